"""Hides a rectangle behind a smooth surface made only of the pixels around it.

Blurs and mosaics can be reversed by guessing. This fill cannot, because no pixel inside the
rectangle contributes to the result. The surface is a Coons patch: it matches the coarse colours
along each edge.
"""

from typing import Final, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from framekiln.compositor.picture import Picture, Plane
from framekiln.compositor.rect import PixelRect

RING_PX: Final = 8
"""Width of the strip outside the rectangle that is sampled."""
_CELLS: Final = 6
"""The number of colours per edge. More would reveal details that cross the edge."""
_GREY: Final = 128.0

_Edge: TypeAlias = npt.NDArray[np.float32]


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
    surface = _coons((top, bottom), (left, right))
    plane[rows, columns] = np.clip(surface + 0.5, 0, 255).astype(np.uint8)


def _pair(one: Plane, other: Plane, length: int) -> tuple[_Edge | None, _Edge | None]:
    """Return two opposite edges; at the border of the picture, both are the one that exists."""
    edges = [_coarse(strip, length) if strip.size else None for strip in (one, other)]
    first = edges[0] if edges[0] is not None else edges[1]
    second = edges[1] if edges[1] is not None else edges[0]
    return first, second


def _coarse(strip: Plane, length: int) -> _Edge:
    """Return the mean colours along a strip, too few to show any detail."""
    line = strip.astype(np.float32).mean(axis=0).reshape(1, -1)
    few = cv2.resize(line, (min(_CELLS, length), 1), interpolation=cv2.INTER_AREA)
    return np.asarray(
        cv2.resize(few, (length, 1), interpolation=cv2.INTER_LINEAR), np.float32
    ).ravel()


def _flat(one: _Edge | None, other: _Edge | None, length: int) -> _Edge:
    known = [float(edge.mean()) for edge in (one, other) if edge is not None]
    return np.full(length, sum(known) / len(known) if known else _GREY, np.float32)


def _coons(across: tuple[_Edge, _Edge], down: tuple[_Edge, _Edge]) -> npt.NDArray[np.float32]:
    (top, bottom), (left, right) = across, down
    u = np.linspace(0, 1, len(top), dtype=np.float32)[None]
    v = np.linspace(0, 1, len(left), dtype=np.float32)[:, None]
    corners = (
        (1 - u) * (1 - v) * ((top[0] + left[0]) / 2)
        + u * (1 - v) * ((top[-1] + right[0]) / 2)
        + (1 - u) * v * ((bottom[0] + left[-1]) / 2)
        + u * v * ((bottom[-1] + right[-1]) / 2)
    )
    surface: npt.NDArray[np.float32] = (
        (1 - v) * top + v * bottom + (1 - u) * left[:, None] + u * right[:, None] - corners
    )
    return surface
