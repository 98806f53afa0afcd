"""Fills a plane of bytes with a smooth surface, natively if `kernel.c` was built, else in numpy.

The surface is a Coons patch: it matches the values along each of its four edges. It is computed in
single precision in a fixed order, so every processor rounds the same way.
"""

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framekiln.pixels import native, numpy_kernel

Plane = NDArray[np.uint8]
Edge = NDArray[np.float32]

_KEPT_LENGTHS: Final = 256


class Edges(NamedTuple):
    """The values along the edges of a surface."""

    top: Edge
    bottom: Edge
    left: Edge
    right: Edge

    def corners(self) -> Edge:
        """Return the means of the values that meet in each corner, row by row."""
        top, bottom, left, right = self
        met = ((top[0], left[0]), (top[-1], right[0]), (bottom[0], left[-1]))
        return np.array([(a + b) / 2 for a, b in (*met, (bottom[-1], right[-1]))], np.float32)


def fill_surface(plane: Plane, edges: Edges) -> None:
    """Fill a plane, in place; its edges are as long as its sides."""
    height, width = plane.shape
    assert [len(edge) for edge in edges] == [width, width, height, height]
    if plane.size == 0:
        return
    across, down = _shares(width), _shares(height)
    library = native.library()
    if library is None:
        plane[:] = numpy_kernel.surface(across, down, edges, edges.corners())
        return
    numbers = [np.ascontiguousarray(each, np.float32) for each in (across, down, *edges)]
    corners = edges.corners()
    library.framekiln_surface(
        *(each.ctypes.data for each in numbers),
        corners.ctypes.data,
        width,
        height,
        native.native_plane(plane),
    )


@lru_cache(_KEPT_LENGTHS)
def _shares(length: int) -> Edge:
    """Return how near each pixel of a line is to its end, from 0 to 1."""
    return np.linspace(0, 1, length, dtype=np.float32)
