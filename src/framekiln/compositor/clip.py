"""Cuts a placed picture to a rectangle of whole pixels, which may have odd edges."""

import numpy as np

from framekiln.compositor.masks import masked
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
