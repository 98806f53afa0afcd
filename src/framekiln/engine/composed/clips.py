"""What boxes of the page cut off of a layer, in whole pixels of a frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Final

from framekiln.compositor.clip import clip_placed, round_placed
from framekiln.compositor.placement import Matrix, PlacedPicture
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import LayerClip, MoverState, PageLayer, joined_matrix

_SAME: Final = 1e-3


@dataclass(frozen=True)
class LayerCut:
    """All clips of a layer in one frame; equal for equal cuts."""

    rect: PixelRect
    rounded: tuple[tuple[PixelRect, float], ...]
    """Boxes with round corners, and the radius of each."""

    def apply(self, placed: PlacedPicture) -> PlacedPicture | None:
        """Return what is left of a picture; None if that is nothing."""
        cut = clip_placed(placed, self.rect)
        for box, radius_px in self.rounded:
            if cut is not None:
                cut = round_placed(cut, box, radius_px)
        return cut


def cut_of(layer: PageLayer, movers: Sequence[MoverState]) -> LayerCut | None:
    """Return what a layer is cut to; None if it is whole."""
    if not layer.clips:
        return None
    boxes = [
        _moved(clip, joined_matrix([movers[number] for number in layer.chain[: clip.depth]]))
        for clip in layer.clips
    ]
    rect = boxes[0][0]
    for box, _ in boxes[1:]:
        rect = rect.intersection(box)
    return LayerCut(rect, tuple(each for each in boxes if each[1] > 0))


def _moved(clip: LayerClip, matrix: Matrix) -> tuple[PixelRect, float]:
    (wide, slant, x), (lean, high, y), _ = matrix.tolist()
    if abs(slant) + abs(lean) > _SAME or wide < 0 or high < 0:
        raise NotComposable("a clip is turned")
    if clip.radius_px > 0 and abs(wide - high) > _SAME:
        raise NotComposable("round corners are stretched")
    left, top, right, bottom = clip.box
    box = PixelRect(
        floor(left * wide + x + 0.5),
        floor(top * high + y + 0.5),
        floor(right * wide + x + 0.5),
        floor(bottom * high + y + 0.5),
    )
    return box, clip.radius_px * wide
