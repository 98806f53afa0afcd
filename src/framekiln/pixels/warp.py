"""Maps a plane of bytes by an affine matrix, natively if `kernel.c` was built, otherwise in numpy.

Positions are integers with 32 fractional bits, so every processor computes the same ones.
"""

import ctypes
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from framekiln.pixels import native, numpy_kernel

Plane = NDArray[np.uint8]
Row = tuple[float, float, float]
IndexMap: TypeAlias = tuple[int, int, int, int, int, int]
"""Where an index of a pixel lies in the source, with 32 fractional bits: see `index_map`."""

_ONE: Final = float(1 << 32)
# Three terms of this size, one of them per pixel, still fit into 64 bits.
_MAX_STEP: Final = 1 << 46
_MAX_START: Final = 1 << 60
MAX_SIDE_PX: Final = 1 << 14


def index_map(x_of: Row, y_of: Row, *, share: float = 1.0) -> IndexMap:
    """Return the map with which (x, y) shows the source at `x_of . (x, y, 1)`, `y_of . (x, y, 1)`.

    Pixel n reaches from n to n + 1. Planes may have a `share` of the pixels in each direction.
    """
    return (*_fixed(x_of, share), *_fixed(y_of, share))


def warp(plane: Plane, indexes: IndexMap, *, width_px: int, height_px: int, extends: bool) -> Plane:
    """Return a plane of that size, each pixel interpolated between four pixels of the source.

    Outside is the nearest pixel if the source `extends`, otherwise zero.
    """
    assert max(width_px, height_px) <= MAX_SIDE_PX, "positions would overflow"
    library = native.library()
    if library is None:
        return numpy_kernel.warp(plane, indexes, width_px, height_px, extends=extends)
    out = np.empty((height_px, width_px), np.uint8)
    source_height, source_width = plane.shape
    library.framekiln_warp(
        native.native_plane(plane),
        source_width,
        source_height,
        (ctypes.c_int64 * 6)(*indexes),
        extends,
        width_px,
        height_px,
        native.native_plane(out),
    )
    return out


def _fixed(row: Row, share: float) -> tuple[int, int, int]:
    across, down, start = row
    # From the centre of a pixel to the index of the one whose centre is there.
    start = share * start + (across + down - 1) / 2
    return (
        _bounded(across, _MAX_STEP),
        _bounded(down, _MAX_STEP),
        _bounded(start, _MAX_START),
    )


def _bounded(value: float, most: int) -> int:
    return min(max(round(value * _ONE), -most), most)
