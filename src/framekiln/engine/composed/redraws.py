"""Pictures of layers that show something else from time to time: captions, colours, sizes.

Each is drawn in the frame that shows it first, and kept until it is replaced.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil, floor

from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.drawing_page import DrawingPage
from framekiln.engine.composed.drawings import (
    Drawing,
    Shot,
    are_apart,
    area_beyond,
    cut_drawing,
    take,
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
        numbers, scale = tuple(each.layer.number for each in group), group[0].scale
        shot = Shot(numbers, frame, scale, _area(group[0], self._page))
        boxes = [_pixels(each) for each in changed]
        pixels, corner = take(self._page, shot, reduce(PixelRect.union, boxes))
        for each, box in zip(changed, boxes, strict=True):
            drawing = cut_drawing(pixels, corner, scale, box)
            self._made[each.layer.number] = (each.key, drawing)


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
