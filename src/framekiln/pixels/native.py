"""The library built from `kernel.c`, if there is one for this machine.

`FRAMEKILN_NATIVE=0` in the environment disables it, for comparison with numpy.
"""

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LIBRARY: Final = Path(__file__).with_name("libkernel.so.1")
SWITCH: Final = "FRAMEKILN_NATIVE"


class NativePlane(ctypes.Structure):
    """The address of rows of bytes, and their stride."""

    _fields_ = (("data", ctypes.c_void_p), ("stride", ctypes.c_ssize_t))


NO_PLANE: Final = NativePlane(None, 0)


@cache
def library() -> ctypes.CDLL | None:
    """Return the library; None if it was not built or cannot be loaded."""
    if os.environ.get(SWITCH) == "0":
        return None
    try:
        found = ctypes.CDLL(str(LIBRARY))
    except OSError:
        return None
    weights, side = ctypes.c_void_p, ctypes.c_int
    for name, arguments in {
        "framekiln_bgra_to_yuv420": (NativePlane, side, side, *3 * (NativePlane,)),
        "framekiln_rgba_to_yuv420": (NativePlane, side, side, *3 * (NativePlane,)),
        "framekiln_premultiplied_rgba_to_yuv420": (NativePlane, side, side, *4 * (NativePlane,)),
        "framekiln_yuv_to_rgba": (*4 * (NativePlane,), *4 * (side,), weights, NativePlane),
        "framekiln_yuv420_to_yuv420": (
            *3 * (NativePlane,),
            side,
            side,
            weights,
            *3 * (NativePlane,),
        ),
        "framekiln_cover": (NativePlane, NativePlane, side, side, NativePlane),
        "framekiln_over": (NativePlane, NativePlane, side, side, NativePlane),
        "framekiln_over_faded": (NativePlane, NativePlane, *4 * (side,), NativePlane),
        "framekiln_weighted": (NativePlane, side, NativePlane, side, side, side, NativePlane),
        "framekiln_uncover": (NativePlane, NativePlane, side, side, side, NativePlane),
        "framekiln_warp": (
            NativePlane,
            side,
            side,
            ctypes.c_void_p,
            *3 * (side,),
            NativePlane,
        ),
        "framekiln_recover_alpha": (NativePlane, NativePlane, side, side, NativePlane),
        "framekiln_surface": (*7 * (ctypes.c_void_p,), side, side, NativePlane),
        "framekiln_block_sums": (NativePlane, NativePlane, *3 * (side,), ctypes.c_void_p),
        "framekiln_outside_sums": (NativePlane, NativePlane, *4 * (side,), ctypes.c_void_p),
    }.items():
        function = getattr(found, name)
        function.argtypes, function.restype = arguments, None
    return found


def native_plane(rows: NDArray[np.uint8]) -> NativePlane:
    """Return the address of an array of rows; the array must outlive the call it is used in."""
    assert rows.strides[-1] == 1, "the bytes of a row lie together"
    assert rows.ndim == 2 or rows.strides[1] == rows.shape[2], "and so do its pixels"
    return NativePlane(rows.ctypes.data, rows.strides[0])


def native_weights(weights: tuple[int, ...]) -> Any:
    """Return weights in the kernel's format."""
    return (ctypes.c_int32 * len(weights))(*weights)
