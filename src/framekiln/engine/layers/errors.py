"""Why a layer cannot be shown: always with its id, and its place in the config."""

from framekiln.composition.layers.values import Layer
from framekiln.kit.errors import CompositionFailed, FramekilnError


class LayerFailed(CompositionFailed):
    """A layer cannot be drawn, though its source looked usable."""

    code = "layer_failed"


def layer_failure(layer: Layer, error: FramekilnError) -> LayerFailed:
    """Return an error that says whose fault it is, and why."""
    return LayerFailed(
        f"{layer.path}: layer {layer.id}: {error.message}", layer_id=layer.id, path=layer.path
    )
