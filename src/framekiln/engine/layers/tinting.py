"""Filters of a config as changes of a picture. Pure."""

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
from framekiln.compositor.changing import Change, Edges
from framekiln.compositor.picture import Colour

_LIGHTER: Final = 0.2


def colour_of(colour: ConfigColour) -> Colour:
    """Return a colour of a config in the planes' numbers."""
    return Colour.of_rgb(colour.red, colour.green, colour.blue, colour.alpha / 255)


def adjustment_of(each: FilterState) -> Change:
    """Return what one filter does."""
    return _ONE[each.name](each)


def adjustments_of(filters: Iterable[FilterState]) -> list[Change]:
    """Return what several filters do, in their order, as few changes as are exact.

    Two are one, unless the first leads out of what can be seen: that is cut off in between.
    """
    found: list[Change] = [UNCHANGED]
    for each in filters:
        last, one = found[-1], adjustment_of(each)
        found[-1:] = [last, one] if (folded := _folded(last, one)) is None else [folded]
    return found


def _folded(first: Change, second: Change) -> Change | None:
    if isinstance(first, Edges) or isinstance(second, Edges) or not first.stays_within:
        return None
    return first.then(second)


def _faded(each: FilterState) -> Adjustment:
    colour = colour_of(each.colour)
    return covered(colour, each.cover * colour.alpha)


_ONE: Final[dict[FilterName, Callable[[FilterState], Change]]] = {
    FilterName.BRIGHTNESS: lambda each: brightness(each.percent / 100),
    FilterName.CONTRAST: lambda each: contrast(each.percent / 100),
    FilterName.SATURATION: lambda each: saturation(each.percent / 100),
    FilterName.GRAYSCALE: lambda each: saturation(1 - each.percent / 100),
    FilterName.NEGATIVE: lambda _: INVERT,
    FilterName.LIGHTEN: lambda _: lighten(_LIGHTER),
    FilterName.VINTAGE: lambda _: VINTAGE,
    FilterName.SOBEL: lambda _: Edges(),
    FilterName.FADE_IN: _faded,
    FilterName.FADE_OUT: _faded,
}
