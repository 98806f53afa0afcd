"""Which layers end by themselves, before anything is known about their sources."""

from framekiln.composition.layers.values import (
    AudioLayer,
    GroupLayer,
    ImageLayer,
    Layer,
    LottieLayer,
    SequenceLayer,
    VideoLayer,
    WaveformLayer,
)


def has_own_length(layer: Layer) -> bool:
    """Tell whether a layer can give the composition a length; its source may still disappoint."""
    if layer.trim.end_s is not None:
        return True
    if isinstance(layer, GroupLayer | SequenceLayer):
        return any(has_own_length(child) for child in layer.layers)
    if isinstance(layer, VideoLayer | AudioLayer | LottieLayer | ImageLayer):
        return True  # Whether a picture is animated is known later.
    return isinstance(layer, WaveformLayer) and layer.file is not None
