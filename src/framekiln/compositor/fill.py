"""Hides a rectangle behind a smooth surface made only of the pixels around it.

Blurs and mosaics can be reversed by guessing. This fill cannot, because no pixel inside the
rectangle contributes to the result. The surface is a Coons patch: it matches the coarse colours
along each edge.
"""

from typing import Final

import cv2
import numpy as np

from framekiln.compositor.picture import Picture, Plane
from framekiln.compositor.rect import PixelRect
from framekiln.pixels.surface import Edge, Edges, fill_surface

RING_PX: Final = 8
"""Width of the strip outside the rectangle that is sampled."""
_CELLS: Final = 6
"""The number of colours per edge. More would reveal details that cross the edge."""
_GREY: Final = 128.0


def hide(picture: Picture, rect: PixelRect) -> None:
    """Fill a rectangle with even corners, in place."""
    half = PixelRect(rect.left // 2, rect.top // 2, rect.right // 2, rect.bottom // 2)
    for plane, part in ((picture.y, rect), (picture.u, half), (picture.v, half)):
        ring = RING_PX if part is rect else RING_PX // 2
        _fill(plane, part, ring)


def _fill(plane: Plane, rect: PixelRect, ring: int) -> None:
    height, width = plane.shape
    rows, columns = np.s_[rect.top : rect.bottom], np.s_[rect.left : rect.right]
    above = plane[max(0, rect.top - ring) : rect.top, columns]
    below = plane[rect.bottom : min(height, rect.bottom + ring), columns]
    before = plane[rows, max(0, rect.left - ring) : rect.left].T
    after = plane[rows, rect.right : min(width, rect.right + ring)].T
    top, bottom = _pair(above, below, rect.width_px)
    left, right = _pair(before, after, rect.height_px)
    # A rectangle that spans the whole picture has neighbours on one axis only.
    if top is None or bottom is None:
        top = bottom = _flat(left, right, rect.width_px)
    if left is None or right is None:
        left = right = _flat(top, bottom, rect.height_px)
    fill_surface(plane[rows, columns], Edges(top, bottom, left, right))


def _pair(one: Plane, other: Plane, length: int) -> tuple[Edge | None, Edge | None]:
    """Return two opposite edges; at the border of the picture, both are the one that exists."""
    edges = [_coarse(strip, length) if strip.size else None for strip in (one, other)]
    first = edges[0] if edges[0] is not None else edges[1]
    second = edges[1] if edges[1] is not None else edges[0]
    return first, second


def _coarse(strip: Plane, length: int) -> Edge:
    """Return the mean colours along a strip, too few to show any detail."""
    total = np.add.reduce(strip, axis=0, dtype=np.float32)
    line = (total / np.float32(len(strip))).reshape(1, -1)
    few = cv2.resize(line, (min(_CELLS, length), 1), interpolation=cv2.INTER_AREA)
    return np.asarray(
        cv2.resize(few, (length, 1), interpolation=cv2.INTER_LINEAR), np.float32
    ).ravel()


def _flat(one: Edge | None, other: Edge | None, length: int) -> Edge:
    known = [float(edge.mean()) for edge in (one, other) if edge is not None]
    return np.full(length, sum(known) / len(known) if known else _GREY, np.float32)
