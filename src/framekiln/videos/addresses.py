"""What a config fetches: every address, and whether they are all it depends on. Pure."""

from collections.abc import Iterable, Iterator

from framekiln.composition.layers import LayerConfig
from framekiln.composition.layers.sources import addresses_of
from framekiln.composition.layers.values import GroupLayer, HtmlLayer, Layer, SequenceLayer


def every_layer(layers: Iterable[Layer]) -> Iterator[Layer]:
    """Yield layers and all that are in them, groups before their children."""
    for layer in layers:
        yield layer
        if isinstance(layer, GroupLayer | SequenceLayer):
            yield from every_layer(layer.layers)


def addresses_in(config: LayerConfig) -> set[str]:
    """Return the address of each source and font."""
    found = {address for layer in every_layer(config.layers) for address in addresses_of(layer)}
    return found | {font.src for font in config.fonts}


def shows_pages(config: LayerConfig) -> bool:
    """Tell whether pages are shown: what those fetch, nobody knows beforehand."""
    return any(isinstance(layer, HtmlLayer) for layer in every_layer(config.layers))
