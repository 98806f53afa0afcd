"""Maps a plane of bytes by an affine matrix, natively if `kernel.c` was built, otherwise in numpy.

Positions are integers with 32 fractional bits, so every processor computes the same ones.
"""

import ctypes
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.pixels import native, numpy_kernel

Plane = NDArray[np.uint8]
Row = tuple[float, float, float]

_ONE: Final = float(1 << 32)
# Three terms of this size, one of them per pixel, still fit into 64 bits.
_MAX_STEP: Final = 1 << 46
_MAX_START: Final = 1 << 60
MAX_SIDE_PX: Final = 1 << 14


def warp(
    plane: Plane, x_of: Row, y_of: Row, *, width_px: int, height_px: int, extends: bool
) -> Plane:
    """Return a plane of that size, each pixel interpolated between four pixels of the source.

    Pixel (x, y) shows the source at `x_of . (x, y, 1)` and `y_of . (x, y, 1)`; whole numbers are
    centres of pixels. Outside is the nearest pixel if the source `extends`, otherwise zero.
    """
    assert max(width_px, height_px) <= MAX_SIDE_PX, "positions would overflow"
    steps = (*_fixed(x_of), *_fixed(y_of))
    library = native.library()
    if library is None:
        return numpy_kernel.warp(plane, steps, width_px, height_px, extends=extends)
    out = np.empty((height_px, width_px), np.uint8)
    source_height, source_width = plane.shape
    library.framekiln_warp(
        native.native_plane(plane),
        source_width,
        source_height,
        (ctypes.c_int64 * 6)(*steps),
        extends,
        width_px,
        height_px,
        native.native_plane(out),
    )
    return out


def _fixed(row: Row) -> tuple[int, int, int]:
    across, down, start = (round(value * _ONE) for value in row)
    return (
        min(max(across, -_MAX_STEP), _MAX_STEP),
        min(max(down, -_MAX_STEP), _MAX_STEP),
        min(max(start, -_MAX_START), _MAX_START),
    )
