"""How a decoded picture is meant to look: its colour matrix, its range, which way up it stands."""

import struct
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from av.sidedata.sidedata import Type as SideDataType
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace
from numpy.typing import NDArray

Array = TypeVar("Array", bound=np.generic)

# AVColorSpace to swscale's matrices: two lists of numbers that agree only by chance.
_MATRICES: Final = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}
_FIRST_HD_LINES: Final = 720


def matrix_of(frame: VideoFrame) -> Colorspace:
    """Return the colour matrix by its tag; untagged pictures go by their size, as players do."""
    tagged = _MATRICES.get(frame.colorspace)
    if tagged is not None:
        return tagged
    is_hd = frame.height >= _FIRST_HD_LINES
    return Colorspace.ITU709 if is_hd else Colorspace.ITU601


def range_of(frame: VideoFrame) -> ColorRange:
    """Return whether luma uses all 256 levels; untagged video does not, RGB always does."""
    is_full = (
        frame.color_range == ColorRange.JPEG
        or frame.format.name.startswith("yuvj")
        or frame.format.is_rgb
    )
    return ColorRange.JPEG if is_full else ColorRange.MPEG


def has_alpha(frame: VideoFrame) -> bool:
    """Tell whether the pixels carry transparency."""
    return any(component.is_alpha for component in frame.format.components)


@dataclass(frozen=True)
class Orientation:
    """How the stored picture is turned to be shown: transposed first, then mirrored."""

    is_transposed: bool = False
    is_mirrored: bool = False
    is_flipped: bool = False

    def apply(self, picture: NDArray[Array]) -> NDArray[Array]:
        """Return a view of rows x columns (x anything) turned the right way."""
        if self.is_transposed:
            picture = picture.swapaxes(0, 1)
        if self.is_mirrored:
            picture = picture[:, ::-1]
        return picture[::-1] if self.is_flipped else picture

    @property
    def rotation_degrees(self) -> int:
        """Counter-clockwise turn, 0, 90, 180 or 270; what is mirrored counts as the nearest."""
        if self.is_transposed:
            return 90 if self.is_flipped else 270
        return 180 if self.is_flipped else 0


def orientation_of(frame: VideoFrame) -> Orientation:
    """Return what the display matrix asks for, to the nearest quarter turn."""
    # Looking at side data ties a frame into a cycle of references, and it would stay until the
    # garbage collector comes by; so look at that of a tiny copy. (PyAV's stub knows one key only.)
    side_data: Any = frame.reformat(width=16, height=16, format="gray").side_data
    if SideDataType.DISPLAYMATRIX not in side_data:
        return Orientation()
    # Rows of 16.16 numbers: x' = a x + c y, y' = b x + d y.
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(side_data[SideDataType.DISPLAYMATRIX]))
    if abs(a) >= abs(b):
        return Orientation(is_mirrored=a < 0, is_flipped=d < 0)
    return Orientation(is_transposed=True, is_mirrored=c < 0, is_flipped=b < 0)
