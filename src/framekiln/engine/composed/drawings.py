"""Pictures of layers, each drawn once in each scale and phase that frames need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Final, TypeAlias

import numpy as np

from framekiln.compositor.picture import Picture, Rgba, picture_of_premultiplied
from framekiln.engine.composed.drawing_page import DrawingPage
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import Box, LayerContent, PageLayer

# A frame uses the smallest scale that is not much below its own.
SCALES: Final = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
_CLOSE: Final = 1.03
_MAX_TILES: Final = 12
_MAX_PIXELS: Final = 64_000_000


@dataclass
class Drawing:
    """A layer as premultiplied RGBA; its corner is in pixels of its scale."""

    rgba: Rgba
    left: int
    top: int
    scale: float
    _pictures: dict[tuple[int, int], Picture] = field(default_factory=dict)

    def picture(self, pad_left: int = 0, pad_top: int = 0) -> Picture:
        """Return it with an odd corner padded, so that chroma is averaged over the right pixels."""
        key = (pad_left, pad_top)
        if key not in self._pictures:
            padded = np.pad(self.rgba, ((pad_top, 0), (pad_left, 0), (0, 0)))
            self._pictures[key] = picture_of_premultiplied(padded)
        return self._pictures[key]


Wanted: TypeAlias = tuple[PageLayer, float, float]
"""A layer, its scale, and the fraction of a pixel by which it is drawn further right."""


def scale_for(needed: float) -> float:
    """Return the scale to draw a layer in that is shown in this one."""
    for scale in SCALES:
        if needed <= scale * _CLOSE:
            return scale
    raise NotComposable(f"a layer is enlarged {needed:.1f} times")


class Drawings:
    """All drawings of a film, made on first use."""

    def __init__(self, page: DrawingPage) -> None:
        self._page = page
        self._made: dict[tuple[int, float, float], Drawing | None] = {}
        self._pixels = 0

    def prepare(self, wanted: Sequence[Wanted]) -> None:
        """Draw what is missing; layers that lie apart are drawn together."""
        missing = [each for each in wanted if (each[0].number, *each[1:]) not in self._made]
        for shot in _shots(missing, self._page):
            self._take(shot)

    def get(self, layer: PageLayer, scale: float, phase: float) -> Drawing | None:
        """Return a prepared drawing; None if it is empty."""
        return self._made[layer.number, scale, phase]

    def _take(self, shot: "_Shot") -> None:
        width, height = self._page.size.width_px, self._page.size.height_px
        corners = tiles(shot.area, width, height)
        left, top = corners[0]
        right, bottom = (max(edges) for edges in zip(*corners, strict=True))
        whole = np.zeros((bottom - top + height, right - left + width, 4), np.uint8)
        numbers = [layer.number for layer in shot.layers]
        for x, y in corners:
            corner = (x - shot.phase, y)
            pixels = self._page.draw(numbers, shot.frame, scale=shot.scale, corner=corner)
            whole[y - top :, x - left :][:height, :width] = pixels[:height]
        for layer in shot.layers:
            drawing = cut_drawing(
                whole, (left, top), shot.scale, layer if len(shot.layers) > 1 else None
            )
            self._made[layer.number, shot.scale, shot.phase] = drawing
            self._pixels += 0 if drawing is None else drawing.rgba.size // 4
        if self._pixels > _MAX_PIXELS:
            raise NotComposable("its layers are too large together")


@dataclass
class _Shot:
    layers: list[PageLayer]
    frame: int
    scale: float
    phase: float
    area: Box | None
    """The pixels to draw, in its scale; None for those of the window."""

    def can_take(self, wanted: Wanted, area: Box | None) -> bool:
        layer, scale, phase = wanted
        return (
            self.area is None
            and area is None
            and (self.frame, self.scale, self.phase) == (layer.frame, scale, phase)
            and all(are_apart(layer.ink, other.ink) for other in self.layers)
        )


def _shots(wanted: Sequence[Wanted], page: DrawingPage) -> Iterator[_Shot]:
    shots: list[_Shot] = []
    for layer, scale, phase in wanted:
        area = area_beyond(layer, scale, page, moves=bool(layer.chain))
        shot = next((each for each in shots if each.can_take((layer, scale, phase), area)), None)
        if shot is None:
            shots.append(_Shot([layer], layer.frame, scale, phase, area))
        else:
            shot.layers.append(layer)
    yield from shots


def area_beyond(
    layer: PageLayer | LayerContent, scale: float, page: DrawingPage, *, moves: bool
) -> Box | None:
    """Return the area of a layer that reaches beyond the window, if all of it may be seen."""
    left, top, right, bottom = (edge * scale for edge in layer.box)
    is_inside = left >= 0 and top >= 0
    is_inside &= right <= page.size.width_px and bottom <= page.size.height_px
    if is_inside or not moves:
        return None
    left, top, right, bottom = (edge * scale for edge in layer.ink)
    return left, top, right, bottom


def are_apart(one: Box, other: Box) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def tiles(area: Box | None, width: int, height: int) -> list[tuple[int, int]]:
    """Return the corners of windows that cover the area, row by row; even, so chroma agrees."""
    if area is None:
        return [(0, 0)]
    left, top = (2 * floor(edge / 2) for edge in area[:2])
    columns, rows = ceil((area[2] - left) / width), ceil((area[3] - top) / height)
    if columns * rows > _MAX_TILES:
        raise NotComposable("a layer is much larger than the film")
    return [
        (left + column * width, top + row * height)
        for row in range(max(1, rows))
        for column in range(max(1, columns))
    ]


def cut_drawing(
    pixels: Rgba, corner: tuple[int, int], scale: float, layer: PageLayer | LayerContent | None
) -> Drawing | None:
    """Return the drawing of one layer without empty edges, with an even corner."""
    x, y = corner
    if layer is not None:
        left, top = (max(0, floor(edge * scale)) for edge in layer.ink[:2])
        right, bottom = (max(0, ceil(edge * scale)) for edge in layer.ink[2:])
        pixels, x, y = pixels[top:bottom, left:right], x + left, y + top
    alpha = pixels[..., 3]
    rows, columns = np.flatnonzero(alpha.any(axis=1)), np.flatnonzero(alpha.any(axis=0))
    if not len(rows):
        return None
    top, left = int(rows[0]), int(columns[0])
    inked = pixels[top : int(rows[-1]) + 1, left : int(columns[-1]) + 1]
    left, top = x + left, y + top
    padded = np.pad(inked, ((top % 2, 0), (left % 2, 0), (0, 0)))
    return Drawing(np.ascontiguousarray(padded), left - left % 2, top - top % 2, scale)
