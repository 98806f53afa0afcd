"""Converts the colours of 8-bit images, natively if `kernel.c` was built, otherwise in numpy.

Arrays are rows of bytes; rows may have padding between them, but each row is contiguous. Width and
height may be odd: planes of half the size are then rounded up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framekiln.pixels import native, numpy_kernel
from framekiln.pixels.colours import Colours, plane_weights, rgb_weights

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Planes:
    """Luma and chroma; chroma has the size of luma, or half of it in one or both directions."""

    luma: Pixels
    blue: Pixels
    red: Pixels

    @classmethod
    def empty(cls, width_px: int, height_px: int) -> "Planes":
        """Return uninitialized 4:2:0 planes."""
        half = ((height_px + 1) // 2, (width_px + 1) // 2)
        return cls(
            np.empty((height_px, width_px), np.uint8),
            np.empty(half, np.uint8),
            np.empty(half, np.uint8),
        )

    @property
    def all(self) -> tuple[Pixels, Pixels, Pixels]:
        """The three planes."""
        return self.luma, self.blue, self.red


def is_native() -> bool:
    """Return whether the native kernel is used; both give the same bytes."""
    return native.library() is not None


def bgra_to_yuv420(bgra: Pixels, out: Planes) -> None:
    """Write height x width x BGRA as BT.709 of limited range; alpha is ignored."""
    library = native.library()
    if library is None:
        _write(numpy_kernel.rgb_to_yuv420(bgra[..., 2::-1]), out)
        return
    height, width = bgra.shape[:2]
    library.framekiln_bgra_to_yuv420(native.native_plane(bgra), width, height, *_places(out))


def rgba_to_yuv420(rgba: Pixels, out: Planes) -> None:
    """Write height x width x RGBA as BT.709 of limited range; alpha is ignored."""
    library = native.library()
    if library is None:
        _write(numpy_kernel.rgb_to_yuv420(rgba[..., :3]), out)
        return
    height, width = rgba.shape[:2]
    library.framekiln_rgba_to_yuv420(native.native_plane(rgba), width, height, *_places(out))


def premultiplied_to_yuv420(rgba: Pixels, out: Planes) -> Pixels:
    """Write premultiplied RGBA, and return the alpha of chroma.

    The planes are premultiplied as well, including their offsets of 16 and 128.
    """
    library = native.library()
    if library is None:
        *planes, half = numpy_kernel.premultiplied_to_yuv420(rgba)
        _write((planes[0], planes[1], planes[2]), out)
        return half
    half = np.empty(out.blue.shape, np.uint8)
    height, width = rgba.shape[:2]
    library.framekiln_premultiplied_rgba_to_yuv420(
        native.native_plane(rgba), width, height, *_places(out), native.native_plane(half)
    )
    return half


def yuv_to_rgba(
    planes: Planes, colours: Colours, out: Pixels, *, alpha: Pixels | None = None
) -> None:
    """Write planes as height x width x RGBA of full range; without alpha they are opaque."""
    library = native.library()
    if library is None:
        out[:] = numpy_kernel.yuv_to_rgba(planes.all, alpha, colours)
        return
    height, width = planes.luma.shape
    library.framekiln_yuv_to_rgba(
        *_places(planes),
        native.NO_PLANE if alpha is None else native.native_plane(alpha),
        width,
        height,
        planes.blue.shape[1] < width,
        planes.blue.shape[0] < height,
        native.native_weights(rgb_weights(colours)),
        native.native_plane(out),
    )


def convert_planes(planes: Planes, given: Colours, wanted: Colours, out: Planes) -> None:
    """Write 4:2:0 planes in another matrix or range; `out` may be the same."""
    weights, library = plane_weights(given, wanted), native.library()
    if library is None:
        _write(numpy_kernel.yuv420_to_yuv420(planes.all, weights), out)
        return
    height, width = planes.luma.shape
    library.framekiln_yuv420_to_yuv420(
        *_places(planes), width, height, native.native_weights(weights), *_places(out)
    )


def _places(planes: Planes) -> tuple[native.NativePlane, native.NativePlane, native.NativePlane]:
    return (
        native.native_plane(planes.luma),
        native.native_plane(planes.blue),
        native.native_plane(planes.red),
    )


def _write(made: tuple[Pixels, Pixels, Pixels], out: Planes) -> None:
    for target, plane in zip(out.all, made, strict=True):
        target[:] = plane
