"""Masks: rounded corners, chroma keys, and mirroring."""

from functools import lru_cache
from math import ceil
from typing import Final

import cv2
import numpy as np

from framekiln.compositor.picture import Picture, Plane, YuvColour
from framekiln.pixels.blend import premultiply

_FINER: Final = 4
"""Edges are drawn larger by this factor and averaged."""


def rounded_mask(width_px: int, height_px: int, radius_px: float) -> Plane:
    """Return the coverage of a rectangle with rounded corners."""
    radius = min(radius_px, width_px / 2, height_px / 2)
    corner = _corner(max(0.0, radius))
    side = len(corner)
    mask: Plane = np.full((height_px, width_px), 255, np.uint8)
    for rows, part in ((np.s_[:side], corner), (np.s_[height_px - side :], corner[::-1])):
        # Two corners share the middle of a side that is as long as both radii.
        for columns, turned in ((np.s_[:side], part), (np.s_[width_px - side :], part[:, ::-1])):
            mask[rows, columns] = np.minimum(mask[rows, columns], turned)
    return mask


@lru_cache(32)
def _corner(radius_px: float) -> Plane:
    """Return the coverage of the upper left corner; cached, since every frame uses the same one."""
    side = ceil(radius_px)
    away = radius_px - (np.arange(side * _FINER) + 0.5) / _FINER
    away = np.maximum(away, 0) ** 2
    inside = (away[:, None] + away <= radius_px**2).astype(np.uint8) * 255
    if side == 0:
        return np.zeros((0, 0), np.uint8)
    return np.asarray(cv2.resize(inside, (side, side), interpolation=cv2.INTER_AREA), np.uint8)


def masked(picture: Picture, mask: Plane) -> Picture:
    """Return the picture multiplied by the mask."""
    half = np.asarray(
        cv2.resize(mask, (mask.shape[1] // 2, mask.shape[0] // 2), interpolation=cv2.INTER_AREA),
        np.uint8,
    )
    masks = (mask, half, half, mask, half)
    return Picture.of_planes(
        tuple(
            premultiply(plane, opaque)
            for plane, opaque in zip(picture.with_alpha().planes, masks, strict=True)
        )
    )


def chroma_keyed(
    picture: Picture, colour: YuvColour, *, similarity: float, blend: float
) -> Picture:
    """Return a picture with one colour keyed out, by its chroma only, not its luma.

    Both numbers are 0 to 1 of the largest distance: within `similarity` a pixel is transparent, and
    over the next `blend` it becomes opaque again.
    """
    # Premultiplied: where something shows through, chroma and its distances are smaller.
    alpha = np.full_like(picture.u, 255) if picture.chroma_alpha is None else picture.chroma_alpha
    opaque = np.maximum(alpha, 1).astype(np.float32) / 255
    du = picture.u.astype(np.float32) - colour.u * opaque
    dv = picture.v.astype(np.float32) - colour.v * opaque
    distance = np.sqrt(du * du + dv * dv) / (224 * opaque)
    cover = np.clip((distance - similarity) / max(blend, 1e-6), 0, 1)
    half = np.rint(cover * 255).astype(np.uint8)
    size = (picture.width_px, picture.height_px)
    return masked(
        picture, np.asarray(cv2.resize(half, size, interpolation=cv2.INTER_LINEAR_EXACT), np.uint8)
    )


def flipped(picture: Picture, *, left_right: bool, top_bottom: bool) -> Picture:
    """Return the picture mirrored."""
    across = -1 if left_right else 1
    down = -1 if top_bottom else 1
    return Picture.of_planes(
        tuple(np.ascontiguousarray(plane[::down, ::across]) for plane in picture.planes)
    )
