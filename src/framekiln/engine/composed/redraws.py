"""Pictures of layers that show something else from time to time: captions, colours, sizes.

Each is drawn in the frame that shows it first, and kept until it is replaced.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from framekiln.compositor.picture import Rgba
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.drawing_page import DrawingPage
from framekiln.engine.composed.drawings import (
    Drawing,
    are_apart,
    area_beyond,
    cut_drawing,
    tiles,
)
from framekiln.engine.composed.page_layers import Box, LayerContent, PageLayer


@dataclass(frozen=True)
class RedrawnLayer:
    """A layer in a frame, with the scale in which it is drawn."""

    layer: PageLayer
    scale: float
    content: LayerContent

    @property
    def key(self) -> tuple[int, float]:
        """The same for the same picture."""
        return self.content.number, self.scale


class Redraws:
    """The present pictures of all redrawn layers."""

    def __init__(self, page: DrawingPage) -> None:
        self._page = page
        self._made: dict[int, tuple[tuple[int, float], Drawing | None]] = {}

    def forget(self) -> None:
        """Begin anew: contents have other numbers in another slice."""
        self._made.clear()

    def get(self, layer: PageLayer) -> Drawing | None:
        """Return the prepared drawing; None if it is empty."""
        return self._made[layer.number][1]

    def prepare(self, frame: int, shown: Sequence[RedrawnLayer]) -> None:
        """Draw what has changed; layers that lie apart are drawn together."""
        for group in _groups([each for each in shown if not each.content.is_empty], self._page):
            changed = [each for each in group if not self._is_made(each)]
            if changed:
                self._draw(frame, group, changed)
        for each in shown:
            if each.content.is_empty:
                self._made[each.layer.number] = (each.key, None)

    def _is_made(self, each: RedrawnLayer) -> bool:
        made = self._made.get(each.layer.number)
        return made is not None and made[0] == each.key

    def _draw(
        self, frame: int, group: Sequence[RedrawnLayer], changed: Sequence[RedrawnLayer]
    ) -> None:
        numbers, scale = [each.layer.number for each in group], group[0].scale
        area = _area(group[0], self._page)
        if area is not None:
            pixels, corner = self._draw_tiles(numbers, frame, scale, area)
        else:
            part = self._part_of(changed)
            corner = (part.left, part.top)
            pixels = (
                np.zeros((0, 0, 4), np.uint8)
                if part.is_empty
                else self._page.draw_part(numbers, frame, scale=scale, part=part)
            )
        for each in changed:
            inside = _inside(pixels, corner, each)
            drawing = None if inside is None else cut_drawing(*inside, scale)
            self._made[each.layer.number] = (each.key, drawing)

    def _draw_tiles(
        self, numbers: Sequence[int], frame: int, scale: float, area: Box
    ) -> tuple[Rgba, tuple[int, int]]:
        width, height = self._page.size.width_px, self._page.size.height_px
        corners = tiles(area, width, height)
        left, top = corners[0]
        right, bottom = (max(edges) for edges in zip(*corners, strict=True))
        whole = np.zeros((bottom - top + height, right - left + width, 4), np.uint8)
        for x, y in corners:
            pixels = self._page.draw(numbers, frame, scale=scale, corner=(x, y))
            whole[y - top :, x - left :][:height, :width] = pixels[:height]
        return whole, (left, top)

    def _part_of(self, layers: Sequence[RedrawnLayer]) -> PixelRect:
        """Return the part of the window in which layers are."""
        boxes = [_pixels(each) for each in layers]
        window = PixelRect(0, 0, self._page.size.width_px, self._page.size.height_px)
        around = PixelRect(
            min(box.left for box in boxes),
            min(box.top for box in boxes),
            max(box.right for box in boxes),
            max(box.bottom for box in boxes),
        )
        return window.intersection(around)


def _groups(shown: Sequence[RedrawnLayer], page: DrawingPage) -> list[list[RedrawnLayer]]:
    groups: list[list[RedrawnLayer]] = []
    for each in shown:
        for group in groups:
            is_whole = _area(each, page) is None and _area(group[0], page) is None
            if (
                is_whole
                and group[0].scale == each.scale
                and group[0].layer.clips == each.layer.clips
                and all(are_apart(each.content.ink, other.content.ink) for other in group)
            ):
                group.append(each)
                break
        else:
            groups.append([each])
    return groups


def _area(each: RedrawnLayer, page: DrawingPage) -> Box | None:
    return area_beyond(each.content, each.scale, page, moves=bool(each.layer.chain))


def _pixels(each: RedrawnLayer) -> PixelRect:
    left, top, right, bottom = (edge * each.scale for edge in each.content.ink)
    return PixelRect(floor(left), floor(top), ceil(right), ceil(bottom))


def _inside(
    pixels: Rgba, corner: tuple[int, int], each: RedrawnLayer
) -> tuple[Rgba, tuple[int, int]] | None:
    """Return the pixels of one layer, and their corner; None if there are none."""
    x, y = corner
    box = _pixels(each)
    left, top = max(0, box.left - x), max(0, box.top - y)
    part = pixels[top : max(0, box.bottom - y), left : max(0, box.right - x)]
    return None if part.size == 0 else (part, (x + left, y + top))
