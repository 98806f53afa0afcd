"""What boxes and clip paths of the page cut off of a layer: whole pixels, corners, soft edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from framekiln.compositor.clip import clip_placed, round_placed, soften_placed
from framekiln.compositor.placement import Matrix, PlacedPicture
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import (
    Box,
    LayerClip,
    MoverState,
    PageLayer,
    joined_matrix,
)

_SAME: Final = 1e-3
# Nearer to whole pixels than this, Chromium does not cut between them.
_NEARLY_WHOLE: Final = 0.11


@dataclass(frozen=True)
class _CutBox:
    rect: PixelRect
    """Around it, in whole pixels."""
    radius_px: float
    edges: Box | None
    """Where it ends between pixels, if it does."""


@dataclass(frozen=True)
class LayerCut:
    """All clips of a layer in one frame; equal for equal cuts."""

    rect: PixelRect
    shaped: tuple[_CutBox, ...]
    """Those that are more than rectangles of whole pixels."""

    def apply(self, placed: PlacedPicture) -> PlacedPicture | None:
        """Return what is left of a picture; None if that is nothing."""
        cut = clip_placed(placed, self.rect)
        for box in self.shaped:
            if cut is not None and box.radius_px > 0:
                cut = round_placed(cut, box.rect, box.radius_px)
            if cut is not None and box.edges is not None:
                cut = soften_placed(cut, box.edges)
        return cut


def cut_of(
    layer: PageLayer, movers: Sequence[MoverState], around_footage: frozenset[int]
) -> LayerCut | None:
    """Return what a layer is cut to; None if it is whole.

    Chromium cuts overflow at the nearest pixels. It cuts clip paths between pixels, but around
    them if there is a video inside, which is a surface of its own.
    """
    chain = [movers[number] for number in layer.chain]
    boxes = [_overflow(clip, joined_matrix(chain[: clip.depth])) for clip in layer.clips]
    for depth, (number, state) in enumerate(zip(layer.chain, chain, strict=True), 1):
        if state.clip is not None:
            path = LayerClip(state.clip[0], depth, state.clip[1])
            matrix = joined_matrix(chain[:depth])
            boxes.append(_path(path, matrix, is_whole=number in around_footage))
    if not boxes:
        return None
    rect = boxes[0].rect
    for box in boxes[1:]:
        rect = rect.intersection(box.rect)
    return LayerCut(rect, tuple(box for box in boxes if box.radius_px > 0 or box.edges))


def is_cut_between_pixels(
    layer: PageLayer, movers: Sequence[MoverState], around_footage: frozenset[int]
) -> bool:
    """Whether a clip path of a layer ends between pixels.

    Where Chromium has made the layer a surface of its own, it cuts at whole pixels instead.
    """
    if all(movers[number].clip is None for number in layer.chain):
        return False
    cut = cut_of(layer, movers, around_footage)
    return cut is not None and any(box.edges is not None for box in cut.shaped)


def _overflow(clip: LayerClip, matrix: Matrix) -> _CutBox:
    left, top, right, bottom = (floor(edge + 0.5) for edge in _edges(clip, matrix))
    return _CutBox(PixelRect(left, top, right, bottom), clip.radius_px * float(matrix[0, 0]), None)


def _path(clip: LayerClip, matrix: Matrix, *, is_whole: bool) -> _CutBox:
    edges = _edges(clip, matrix)
    away = max(abs(edge - floor(edge + 0.5)) for edge in edges)
    is_circle = clip.box[2] - clip.box[0] <= 2 * clip.radius_px + _SAME
    if is_circle or (away < _NEARLY_WHOLE and not is_whole):
        return _overflow(clip, matrix)
    around = PixelRect(
        floor(edges[0] + _SAME),
        floor(edges[1] + _SAME),
        ceil(edges[2] - _SAME),
        ceil(edges[3] - _SAME),
    )
    radius_px = clip.radius_px * float(matrix[0, 0])
    return _CutBox(around, radius_px, None if is_whole else edges)


def _edges(clip: LayerClip, matrix: Matrix) -> Box:
    (wide, slant, x), (lean, high, y), _ = matrix.tolist()
    if abs(slant) + abs(lean) > _SAME or wide < 0 or high < 0:
        raise NotComposable("a clip is turned")
    if clip.radius_px > 0 and abs(wide - high) > _SAME:
        raise NotComposable("round corners are stretched")
    left, top, right, bottom = clip.box
    return left * wide + x, top * high + y, right * wide + x, bottom * high + y
