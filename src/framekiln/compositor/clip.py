"""Cuts a placed picture to a rectangle: with odd edges, round corners, or between pixels."""

import numpy as np
import numpy.typing as npt

from framekiln.compositor.masks import masked, rounded_mask
from framekiln.compositor.picture import crop_picture
from framekiln.compositor.placement import PlacedPicture
from framekiln.compositor.rect import PixelRect


def clip_placed(placed: PlacedPicture, clip: PixelRect) -> PlacedPicture | None:
    """Return the part of the picture inside the rectangle; None if there is none."""
    seen = placed.rect.intersection(clip)
    if seen.is_empty:
        return None
    if seen == placed.rect:
        return placed
    around = PixelRect.around(seen.left, seen.top, seen.right, seen.bottom)
    cut = crop_picture(placed.picture, around.moved(-placed.left, -placed.top))
    if around != seen:
        mask = np.zeros((around.height_px, around.width_px), np.uint8)
        inside = seen.moved(-around.left, -around.top)
        mask[inside.top : inside.bottom, inside.left : inside.right] = 255
        cut = masked(cut, mask)
    return PlacedPicture(cut, around.left, around.top)


def round_placed(placed: PlacedPicture, box: PixelRect, radius_px: float) -> PlacedPicture:
    """Return a picture that lies inside the rectangle cut to its rounded corners."""
    whole = rounded_mask(box.width_px, box.height_px, radius_px)
    seen = placed.rect.intersection(box)
    mask = np.zeros((placed.rect.height_px, placed.rect.width_px), np.uint8)
    onto, part = seen.moved(-placed.left, -placed.top), seen.moved(-box.left, -box.top)
    cut = whole[part.top : part.bottom, part.left : part.right]
    mask[onto.top : onto.bottom, onto.left : onto.right] = cut
    if int(cut.min(initial=255)) == 255 and seen == placed.rect:
        return placed
    return PlacedPicture(masked(placed.picture, mask), placed.left, placed.top)


def soften_placed(placed: PlacedPicture, edges: tuple[float, float, float, float]) -> PlacedPicture:
    """Return a picture cut to left, top, right and bottom between pixels, which cover in part."""
    left, top, right, bottom = edges
    across = _coverage(placed.rect.left, placed.rect.right, left, right)
    down = _coverage(placed.rect.top, placed.rect.bottom, top, bottom)
    if across.min(initial=1) == 1 and down.min(initial=1) == 1:
        return placed
    mask = np.rint(np.outer(down, across) * 255).astype(np.uint8)
    return PlacedPicture(masked(placed.picture, mask), placed.left, placed.top)


def _coverage(first: int, end: int, low: float, high: float) -> npt.NDArray[np.float64]:
    """Return how much of each pixel lies between two edges."""
    pixels = np.arange(first, end, dtype=np.float64)
    covered = np.minimum(pixels + 1, high) - np.maximum(pixels, low)
    return np.asarray(np.clip(covered, 0.0, 1.0), np.float64)
