"""Errors of layers; each has the layer's id and its path in the config."""

from framekiln.composition.layers.values import Layer
from framekiln.kit.errors import CompositionFailed, FramekilnError


class LayerFailed(CompositionFailed):
    """A layer cannot be drawn, although its source looked usable."""

    code = "layer_failed"


def layer_failure(layer: Layer, error: FramekilnError) -> LayerFailed:
    """Return an error with the layer's path and id, and the reason."""
    return LayerFailed(
        f"{layer.path}: {layer.prefix}{error.message}", layer_id=layer.id, path=layer.path
    )
