"""Cuts a placed picture to a rectangle of whole pixels, with odd edges and round corners."""

import numpy as np

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
