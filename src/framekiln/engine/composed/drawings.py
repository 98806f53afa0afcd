"""Pictures of layers, drawn in each scale and phase that frames need.

The pixels of a drawing depend on layer, scale and phase alone, never on what else was drawn before:
every worker makes the same ones, in whatever order slices are rendered.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Final, TypeAlias

import numpy as np

from framekiln.compositor.picture import Picture, Rgba, picture_of_premultiplied
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.drawing_page import DrawingPage
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import Box, LayerContent, PageLayer

# A frame uses the smallest scale that is not much below its own.
SCALES: Final = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
_CLOSE: Final = 1.03
_MAX_TILES: Final = 12
# Of one slice. Those of earlier slices may be needed again, but most often are not.
_MAX_PIXELS: Final = 64_000_000
_KEPT_PIXELS: Final = 16_000_000


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
DrawingKey: TypeAlias = tuple[int, float, float]
"""The same with the number of the layer."""


def scale_for(needed: float) -> float:
    """Return the scale to draw a layer in that is shown in this one."""
    for scale in SCALES:
        if needed <= scale * _CLOSE:
            return scale
    raise NotComposable(f"a layer is enlarged {needed:.1f} times")


class Drawings:
    """The drawings of a slice, made on first use, and those of earlier slices."""

    def __init__(self, page: DrawingPage, *, max_pixels: int = _MAX_PIXELS) -> None:
        self._page = page
        self._max_pixels = max_pixels
        self._made: dict[DrawingKey, Drawing | None] = {}
        """Those used last come last."""
        self._companions: dict[float, dict[int, tuple[PageLayer, ...]]] = {}

    @property
    def pixels(self) -> int:
        """The size of all that is kept."""
        return sum(each.rgba.size // 4 for each in self._made.values() if each is not None)

    def prepare(self, wanted: Sequence[Wanted]) -> None:
        """Draw what a slice needs and is missing; layers that lie apart are drawn together."""
        keys = {(layer.number, scale, phase) for layer, scale, phase in wanted}
        for key in keys & self._made.keys():
            self._made[key] = self._made.pop(key)
        missing = [each for each in wanted if (each[0].number, *each[1:]) not in self._made]
        for shot in self._shots(missing):
            self._take(shot)
            self._make_room(keys)

    def get(self, layer: PageLayer, scale: float, phase: float) -> Drawing | None:
        """Return a prepared drawing; None if it is empty."""
        return self._made[layer.number, scale, phase]

    def _make_room(self, wanted: Set[DrawingKey]) -> None:
        while (pixels := self.pixels) > min(_KEPT_PIXELS, self._max_pixels):
            oldest = next(iter(self._made))
            if oldest not in wanted:
                del self._made[oldest]
            elif pixels > self._max_pixels:
                raise NotComposable("its layers are too large together")
            else:
                return

    def _shots(self, missing: Sequence[Wanted]) -> Iterable["_Shot"]:
        shots: dict[DrawingKey, _Shot] = {}
        for layer, scale, phase in missing:
            together = self._together(layer, scale)
            key = (together[0].number, scale, phase)
            area = area_beyond(layer, scale, self._page, moves=bool(layer.chain))
            shot = shots.setdefault(key, _Shot(together, scale, phase, area))
            shot.missing.append(layer)
        return shots.values()

    def _together(self, layer: PageLayer, scale: float) -> tuple[PageLayer, ...]:
        """Return the layers that are drawn with this one, always the same."""
        if scale not in self._companions:
            self._companions[scale] = _companions(self._page, scale)
        return self._companions[scale][layer.number]

    def _take(self, shot: "_Shot") -> None:
        width, height = self._page.size.width_px, self._page.size.height_px
        corners = tiles(shot.area, width, height)
        left, top = corners[0]
        right, bottom = (max(edges) for edges in zip(*corners, strict=True))
        whole = np.zeros((bottom - top + height, right - left + width, 4), np.uint8)
        numbers, frame = [layer.number for layer in shot.layers], shot.layers[0].frame
        for x, y in corners:
            corner = (x - shot.phase, y)
            pixels = self._page.draw(numbers, frame, scale=shot.scale, corner=corner)
            whole[y - top :, x - left :][:height, :width] = pixels[:height]
        for layer in shot.missing:
            box = _ink_box(layer, shot.scale)
            drawing = cut_drawing(whole, (left, top), shot.scale, box)
            self._made[layer.number, shot.scale, shot.phase] = drawing


@dataclass
class _Shot:
    layers: tuple[PageLayer, ...]
    scale: float
    phase: float
    area: Box | None
    """The pixels to draw, in its scale; None for those of the window."""
    missing: list[PageLayer] = field(default_factory=list)
    """Those whose drawings are kept."""


def _companions(page: DrawingPage, scale: float) -> dict[int, tuple[PageLayer, ...]]:
    """Return for each layer all that are drawn with it: they lie apart, inside of the window."""
    groups: list[list[PageLayer]] = []
    for layer in page.layers.layers:
        if layer.footage is not None or layer.is_redrawn:
            continue
        is_whole = area_beyond(layer, scale, page, moves=bool(layer.chain)) is None
        box = _ink_box(layer, scale)
        for group in groups if is_whole else ():
            others = [_ink_box(other, scale) for other in group]
            if (
                group[0].frame == layer.frame
                # Clips are open while a layer is drawn that moves in them.
                and group[0].clips == layer.clips
                and area_beyond(group[0], scale, page, moves=bool(group[0].chain)) is None
                and all(box.intersection(other).is_empty for other in others)
            ):
                group.append(layer)
                break
        else:
            groups.append([layer])
    return {layer.number: tuple(group) for group in groups for layer in group}


def _ink_box(layer: PageLayer, scale: float) -> PixelRect:
    """Return the pixels that a layer may draw on; text may be drawn further right by a phase."""
    left, top, right, bottom = (edge * scale for edge in layer.ink)
    return PixelRect(floor(left), floor(top), ceil(right) + layer.has_glyphs, ceil(bottom))


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
    pixels: Rgba, corner: tuple[int, int], scale: float, box: PixelRect | None = None
) -> Drawing | None:
    """Return the drawing inside of a box without empty edges, with an even corner."""
    x, y = corner
    if box is not None:
        left, top = max(0, box.left - x), max(0, box.top - y)
        right, bottom = max(0, box.right - x), max(0, box.bottom - y)
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
