"""Compares planes of bytes in blocks, natively if `kernel.c` was built, otherwise in numpy.

The last blocks of a row or column may be partial.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.pixels import native, numpy_kernel

Plane = NDArray[np.uint8]
Numbers = NDArray[np.uint32]

_SIDES: Final = (1, 8, 16, 32)


def block_sums(one: Plane, other: Plane, side: int) -> Numbers:
    """Return both sums, the sum of all squares, and that of the products, for each square block.

    The shape is rows x columns x 4.
    """
    height, width = _checked(one, other, side)
    library = native.library()
    if library is None:
        return numpy_kernel.block_sums(one, other, side)
    sums = np.zeros((-(-height // side), -(-width // side), 4), np.uint32)
    library.framekiln_block_sums(
        native.native_plane(one), native.native_plane(other), width, height, side, sums.ctypes.data
    )
    return sums


def outside_sums(one: Plane, other: Plane, rows: int, columns: int) -> Numbers:
    """Return how far pixels lie outside of the range of the other's 5x5 pixels around them.

    Each sum is that of a block of `rows` x `columns` pixels.
    """
    height, width = _checked(one, other, rows, columns)
    library = native.library()
    if library is None:
        return numpy_kernel.outside_sums(one, other, rows, columns)
    sums = np.empty((-(-height // rows), -(-width // columns)), np.uint32)
    planes = native.native_plane(one), native.native_plane(other)
    library.framekiln_outside_sums(*planes, width, height, rows, columns, sums.ctypes.data)
    return sums


def block_sizes(plane: Plane, side: int) -> NDArray[np.int64]:
    """Return the number of pixels in each block of a plane."""
    rows, columns = (
        np.minimum(side, length - np.arange(0, length, side)) for length in plane.shape
    )
    return np.outer(rows, columns)


def _checked(one: Plane, other: Plane, *sides: int) -> tuple[int, int]:
    assert one.shape == other.shape, "both have the same size"
    assert all(side in _SIDES for side in sides), "the kernel adds up columns of whole blocks"
    height, width = one.shape
    return height, width
