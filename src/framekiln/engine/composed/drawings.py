"""Pictures of layers, drawn in each scale and phase that frames need.

The pixels of a drawing depend on layer, scale and phase alone, never on what else was drawn before:
every worker makes the same ones, in whatever order slices are rendered.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import reduce
from math import ceil, floor
from typing import Final, TypeAlias

import cv2
import numpy as np

from framekiln.compositor.picture import Picture, Rgba, picture_of_premultiplied
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.drawing_page import DrawingPage
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import Box, LayerContent, PageLayer

# A frame uses the smallest scale that is not much below its own.
SCALES: Final = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
_CLOSE: Final = 1.03
# What grows is drawn larger than it is shown, in scales that lie closer together.
_SHARP: Final = 1.9
_SHARP_SCALES: Final = (1.0, 1.2, 1.4, 1.7, 2.0, 2.4, 2.8, 3.4, 4.0, 4.8, 5.6, 6.8, 8.0)
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

    def forget_pictures(self) -> None:
        """Free what can be made again from its pixels."""
        self._pictures.clear()


Wanted: TypeAlias = tuple[PageLayer, float, float]
"""A layer, its scale, and the fraction of a pixel by which it is drawn further right."""
DrawingKey: TypeAlias = tuple[int, float, float]
"""The same with the number of the layer."""


def scale_for(needed: float) -> float:
    """Return the scale to draw a layer in that is shown in this one."""
    return _least(SCALES, needed, needed)


def sharp_scale_for(needed: float) -> float:
    """Return the scale to draw a layer in whose edges are shown in this one, in no other angle.

    About twice as large: sampled from their own size, they would be softer than Chromium's.
    """
    return _least(_SHARP_SCALES, max(needed, min(_SHARP * needed, SCALES[-1])), needed)


def _least(scales: Sequence[float], wanted: float, needed: float) -> float:
    for scale in scales:
        if wanted <= scale * _CLOSE:
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
        for key in self._made.keys() - keys:
            if (unused := self._made[key]) is not None:
                unused.forget_pictures()
        missing = [each for each in wanted if (each[0].number, *each[1:]) not in self._made]
        for _ in self._draw(missing):
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

    def _draw(self, missing: Sequence[Wanted]) -> Iterator[None]:
        drawn_together: dict[DrawingKey, list[PageLayer]] = {}
        for layer, scale, phase in missing:
            first = self._together(layer, scale)[0]
            drawn_together.setdefault((first.number, scale, phase), []).append(layer)
        for (_, scale, phase), layers in drawn_together.items():
            numbers = tuple(each.number for each in self._together(layers[0], scale))
            area = area_beyond(layers[0], scale, self._page, moves=bool(layers[0].chain))
            shot = Shot(numbers, layers[0].frame, scale, area, phase)
            boxes = [_ink_box(layer, scale) for layer in layers]
            pixels, corner = take(self._page, shot, reduce(PixelRect.union, boxes))
            for layer, box in zip(layers, boxes, strict=True):
                drawing = cut_drawing(pixels, corner, scale, box)
                self._made[layer.number, scale, phase] = drawing
            yield

    def _together(self, layer: PageLayer, scale: float) -> tuple[PageLayer, ...]:
        """Return the layers that are drawn with this one, always the same."""
        if scale not in self._companions:
            self._companions[scale] = _companions(self._page, scale)
        return self._companions[scale][layer.number]


@dataclass(frozen=True)
class Shot:
    """Layers that are drawn together."""

    numbers: tuple[int, ...]
    frame: int
    scale: float
    area: Box | None
    """The pixels that they may cover, in their scale; None if these are in the window."""
    phase: float = 0.0
    """The fraction of a pixel by which they are drawn further right."""


def take(page: DrawingPage, shot: Shot, box: PixelRect) -> tuple[Rgba, tuple[int, int]]:
    """Return the pixels of a shot inside of a box, and their corner."""
    window = PixelRect(0, 0, page.size.width_px, page.size.height_px)
    if shot.area is None:
        box = box.intersection(window)
    pixels = np.zeros((box.height_px, box.width_px, 4), np.uint8)
    for x, y in tiles(shot.area, window.width_px, window.height_px):
        seen = window.moved(x, y).intersection(box)
        if seen.is_empty:
            continue
        inside = seen.moved(-box.left, -box.top)
        pixels[inside.top : inside.bottom, inside.left : inside.right] = page.draw(
            shot.numbers,
            shot.frame,
            scale=shot.scale,
            corner=(x - shot.phase, y),
            part=seen.moved(-x, -y),
        )
    return pixels, (box.left, box.top)


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
                and not any(box.overlaps(other) for other in others)
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
    pixels: Rgba, corner: tuple[int, int], scale: float, box: PixelRect
) -> Drawing | None:
    """Return the drawing inside of a box without empty edges, with an even corner."""
    x, y = corner
    left, top = max(0, box.left - x), max(0, box.top - y)
    right, bottom = max(0, box.right - x), max(0, box.bottom - y)
    pixels, x, y = pixels[top:bottom, left:right], x + left, y + top
    if pixels.size == 0:
        return None
    left, top, width, height = cv2.boundingRect(cv2.extractChannel(pixels, 3))
    if width == 0:
        return None
    inked = pixels[top : top + height, left : left + width]
    left, top = x + left, y + top
    padded = np.pad(inked, ((top % 2, 0), (left % 2, 0), (0, 0)))
    return Drawing(np.ascontiguousarray(padded), left - left % 2, top - top % 2, scale)
