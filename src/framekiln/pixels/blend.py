"""Blends planes of bytes, natively if `kernel.c` was built, otherwise in numpy.

Alpha 255 is opaque, 0 transparent. Arrays are rows of bytes; rows may have padding between them.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.pixels import native, numpy_kernel

Plane = NDArray[np.uint8]
Pixels = NDArray[np.uint8]
"""Height x width x 4."""

WEIGHT_BITS: Final = 16
_ONE: Final = 1 << WEIGHT_BITS
_OPAQUE: Final = 1 << 14
# This many times a byte still fits into 32 bits, twice.
_MAX_WEIGHT: Final = 60.0


def premultiply(plane: Plane, alpha: Plane) -> Plane:
    """Return the plane multiplied by alpha."""
    library = native.library()
    if library is None:
        return numpy_kernel.premultiply(plane, alpha)
    out = np.empty(plane.shape, np.uint8)
    height, width = plane.shape
    library.framekiln_cover(*_places(plane, alpha), width, height, native.native_plane(out))
    return out


def over(
    plane: Plane, alpha: Plane, below: Plane, opacity: float = 1.0, *, lower: float = 0.0
) -> None:
    """Blend a premultiplied plane over another one, in place, and round once.

    A fade is rounded `lower` by this part of a level, up to a half: then it is cut off.
    """
    library, (height, width) = native.library(), plane.shape
    faded = round(min(max(opacity, 0.0), 1.0) * _OPAQUE)
    half = round(255 * _OPAQUE * (0.5 - lower))
    if library is None:
        below[...] = (
            numpy_kernel.over(plane, alpha, below)
            if faded == _OPAQUE
            else numpy_kernel.over_faded(plane, alpha, below, faded, half)
        )
    elif faded == _OPAQUE:
        library.framekiln_over(*_places(plane, alpha), width, height, native.native_plane(below))
    else:
        library.framekiln_over_faded(
            *_places(plane, alpha), width, height, faded, half, native.native_plane(below)
        )


def weighted_sum(
    one: Plane, one_weight: float, other: Plane, other_weight: float, out: Plane | None = None
) -> Plane:
    """Return the weighted sum of both; `out` may be one of them."""
    weights = (_fixed(one_weight), _fixed(other_weight))
    made = np.empty(one.shape, np.uint8) if out is None else out
    library = native.library()
    if library is None:
        made[...] = numpy_kernel.weighted_sum(one, weights[0], other, weights[1])
        return made
    height, width = one.shape
    places = _places(one, other)
    library.framekiln_weighted(
        places[0], weights[0], places[1], weights[1], width, height, native.native_plane(made)
    )
    return made


def unpremultiply(plane: Plane, alpha: Plane, *, nothing: int) -> Plane:
    """Return the plane divided by alpha; `nothing` where alpha is zero."""
    library = native.library()
    if library is None:
        return numpy_kernel.unpremultiply(plane, alpha, nothing)
    out = np.empty(plane.shape, np.uint8)
    height, width = plane.shape
    library.framekiln_uncover(
        *_places(plane, alpha), width, height, nothing, native.native_plane(out)
    )
    return out


def recover_alpha(on_white: Pixels, on_black: Pixels) -> Pixels:
    """Return premultiplied RGBA of BGRA pixels that were drawn on white and on black.

    Pixels on white that are translucent have no white behind them.
    """
    library = native.library()
    if library is None:
        return numpy_kernel.recover_alpha(on_white, on_black)
    out = np.empty(on_white.shape, np.uint8)
    height, width = on_white.shape[:2]
    library.framekiln_recover_alpha(
        *_places(on_white, on_black), width, height, native.native_plane(out)
    )
    return out


def _places(one: Plane, other: Plane) -> tuple[native.NativePlane, native.NativePlane]:
    assert one.shape == other.shape, "both have the same size"
    return native.native_plane(one), native.native_plane(other)


def _fixed(weight: float) -> int:
    return round(min(max(weight, -_MAX_WEIGHT), _MAX_WEIGHT) * _ONE)
