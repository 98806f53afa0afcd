"""Filters of a config as changes of colour. Pure."""

from collections.abc import Callable, Iterable
from typing import Final

from framekiln.composition.layers import Colour as ConfigColour
from framekiln.composition.layers.filters import FilterName
from framekiln.composition.layers.state import FilterState
from framekiln.compositor.adjusting import (
    INVERT,
    UNCHANGED,
    VINTAGE,
    Adjustment,
    brightness,
    contrast,
    covered,
    lighten,
    saturation,
)
from framekiln.compositor.picture import Colour

_LIGHTER: Final = 0.2


def colour_of(colour: ConfigColour) -> Colour:
    """Return a colour of a config in the planes' numbers."""
    return Colour.of_rgb(colour.red, colour.green, colour.blue, colour.alpha / 255)


def adjustment_of(filters: Iterable[FilterState]) -> Adjustment:
    """Return several filters, in their order, as one."""
    whole = UNCHANGED
    for each in filters:
        whole = whole.then(_ONE.get(each.name, _nothing)(each))
    return whole


def _nothing(_: FilterState) -> Adjustment:
    return UNCHANGED


def _faded(each: FilterState) -> Adjustment:
    colour = colour_of(each.colour)
    return covered(colour, each.cover * colour.alpha)


_ONE: Final[dict[FilterName, Callable[[FilterState], Adjustment]]] = {
    FilterName.BRIGHTNESS: lambda each: brightness(each.percent / 100),
    FilterName.CONTRAST: lambda each: contrast(each.percent / 100),
    FilterName.SATURATION: lambda each: saturation(each.percent / 100),
    FilterName.GRAYSCALE: lambda each: saturation(1 - each.percent / 100),
    FilterName.NEGATIVE: lambda _: INVERT,
    FilterName.LIGHTEN: lambda _: lighten(_LIGHTER),
    FilterName.VINTAGE: lambda _: VINTAGE,
    FilterName.FADE_IN: _faded,
    FilterName.FADE_OUT: _faded,
}
