"""Converts filters of a config to picture filters. Pure."""

from collections.abc import Callable, Iterable
from typing import Final

from framekiln.composition.layers import Colour as ConfigColour
from framekiln.composition.layers.filters import FilterName
from framekiln.composition.layers.state import FilterState
from framekiln.compositor.adjustments import (
    INVERT,
    UNCHANGED,
    VINTAGE,
    Adjustment,
    brightness,
    colour_overlay,
    contrast,
    lighten,
    saturation,
)
from framekiln.compositor.filters import EdgeFilter, PictureFilter
from framekiln.compositor.picture import YuvColour

_LIGHTER: Final = 0.2


def yuv_colour(colour: ConfigColour) -> YuvColour:
    """Return a colour of a config in plane values."""
    return YuvColour.of_rgb(colour.red, colour.green, colour.blue, colour.alpha / 255)


def picture_filter(each: FilterState) -> PictureFilter:
    """Return the effect of one filter."""
    return _ONE[each.name](each)


def picture_filters(filters: Iterable[FilterState]) -> list[PictureFilter]:
    """Return the effects of several filters in order, merged where that is exact.

    Two are merged unless the first goes out of gamut, because that is clipped in between.
    """
    found: list[PictureFilter] = [UNCHANGED]
    for each in filters:
        last, one = found[-1], picture_filter(each)
        found[-1:] = [last, one] if (folded := _folded(last, one)) is None else [folded]
    return found


def _folded(first: PictureFilter, second: PictureFilter) -> PictureFilter | None:
    if isinstance(first, EdgeFilter) or isinstance(second, EdgeFilter) or not first.stays_in_range:
        return None
    return first.then(second)


def _faded(each: FilterState) -> Adjustment:
    colour = yuv_colour(each.colour)
    return colour_overlay(colour, each.cover * colour.alpha)


_ONE: Final[dict[FilterName, Callable[[FilterState], PictureFilter]]] = {
    FilterName.BRIGHTNESS: lambda each: brightness(each.percent / 100),
    FilterName.CONTRAST: lambda each: contrast(each.percent / 100),
    FilterName.SATURATION: lambda each: saturation(each.percent / 100),
    FilterName.GRAYSCALE: lambda each: saturation(1 - each.percent / 100),
    FilterName.NEGATIVE: lambda _: INVERT,
    FilterName.LIGHTEN: lambda _: lighten(_LIGHTER),
    FilterName.VINTAGE: lambda _: VINTAGE,
    FilterName.SOBEL: lambda _: EdgeFilter(),
    FilterName.FADE_IN: _faded,
    FilterName.FADE_OUT: _faded,
}
