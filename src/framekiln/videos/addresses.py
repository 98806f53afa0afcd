"""What a config fetches: every address, and whether they are all it depends on. Pure."""

from framekiln.composition.layers import LayerConfig
from framekiln.composition.layers.sources import addresses_of, every_layer
from framekiln.composition.layers.values import HtmlLayer


def addresses_in(config: LayerConfig) -> set[str]:
    """Return the address of each source and font."""
    found = {address for layer in every_layer(config.layers) for address in addresses_of(layer)}
    return found | {font.src for font in config.fonts}


def shows_pages(config: LayerConfig) -> bool:
    """Tell whether pages are shown: what those fetch, nobody knows beforehand."""
    return any(isinstance(layer, HtmlLayer) for layer in every_layer(config.layers))
