"""Properties of a decoded frame: colour matrix, range, transfer curve, orientation, planes."""

import struct
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from av.sidedata.sidedata import Type as SideDataType
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange
from numpy.typing import NDArray

from framekiln.media.decode.tone_mapping import Bt2020Transfer, TransferCurve
from framekiln.pixels.colours import Colours, Matrix
from framekiln.pixels.conversion import Planes

Array = TypeVar("Array", bound=np.generic)

# AVColorSpace.
_MATRICES: Final = {
    1: Matrix.BT709,
    4: Matrix.FCC,
    5: Matrix.BT601,
    6: Matrix.BT601,
    7: Matrix.SMPTE240M,
    9: Matrix.BT2020,
    10: Matrix.BT2020,
}
_FIRST_HD_LINES: Final = 720
# AVColorTransferCharacteristic.
HDR_CURVES: Final = {16: TransferCurve.PQ, 18: TransferCurve.HLG}
_BT2020: Final = 9
# Peaks for tone mapping: the nearest of these is accurate enough, and tables take time to build.
_PEAKS_NITS: Final = (1000, 2000, 4000)


def colours_of(frame: VideoFrame) -> Colours:
    """Return the colour properties of a frame from its tags.

    An untagged matrix follows from the size, as in players. Untagged video has limited range, RGB
    always full range.
    """
    is_hd = frame.height >= _FIRST_HD_LINES
    is_full = (
        frame.color_range == ColorRange.JPEG
        or frame.format.name.startswith("yuvj")
        or frame.format.is_rgb
    )
    usual = Matrix.BT709 if is_hd else Matrix.BT601
    return Colours(_MATRICES.get(frame.colorspace, usual), is_full)


def has_alpha(frame: VideoFrame) -> bool:
    """Return whether the pixels have alpha."""
    return any(component.is_alpha for component in frame.format.components)


def bt2020_transfer_of(frame: VideoFrame) -> Bt2020Transfer | None:
    """Return the transfer of a BT.2020 frame; None for any other frame."""
    curve = HDR_CURVES.get(frame.color_trc)
    if curve is TransferCurve.PQ:
        return Bt2020Transfer(curve, _peak_nits(frame))
    if curve is None and frame.color_primaries == _BT2020:
        curve = TransferCurve.SCREEN
    return curve and Bt2020Transfer(curve)


def _peak_nits(frame: VideoFrame) -> int:
    """Return the peak luminance of the mastering display, as stated in the metadata."""
    side_data = _side_data(frame)
    if SideDataType.MASTERING_DISPLAY_METADATA not in side_data:
        return _PEAKS_NITS[0]
    metadata = bytes(side_data[SideDataType.MASTERING_DISPLAY_METADATA])
    # Ten fractions, the last of which is the peak, and two flags for what is present.
    *_, over, under, _, has_luminance = struct.unpack_from("=22i", metadata)
    if not has_luminance or under <= 0:
        return _PEAKS_NITS[0]
    return min(_PEAKS_NITS, key=lambda nits: abs(nits - over / under))


def _side_data(frame: VideoFrame) -> Any:
    # Access to side data puts a frame into a reference cycle, and it would stay until the garbage
    # collector runs; so read the side data of a tiny copy. (PyAV's stub knows only one key.)
    return frame.reformat(width=16, height=16, format="gray").side_data


@dataclass(frozen=True)
class Orientation:
    """How the stored frame is oriented for display: transposed first, then mirrored."""

    is_transposed: bool = False
    is_mirrored: bool = False
    is_flipped: bool = False

    def apply(self, picture: NDArray[Array]) -> NDArray[Array]:
        """Return an upright view of rows x columns (x anything)."""
        if self.is_transposed:
            picture = picture.swapaxes(0, 1)
        if self.is_mirrored:
            picture = picture[:, ::-1]
        return picture[::-1] if self.is_flipped else picture

    @property
    def rotation_degrees(self) -> int:
        """Counter-clockwise rotation, 0, 90, 180 or 270; a mirrored one counts as the nearest."""
        if self.is_transposed:
            return 90 if self.is_flipped else 270
        return 180 if self.is_flipped else 0


def orientation_of(frame: VideoFrame) -> Orientation:
    """Return the orientation of the display matrix, to the nearest quarter turn."""
    side_data = _side_data(frame)
    if SideDataType.DISPLAYMATRIX not in side_data:
        return Orientation()
    # Rows of 16.16 fixed-point numbers: x' = a x + c y, y' = b x + d y.
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(side_data[SideDataType.DISPLAYMATRIX]))
    if abs(a) >= abs(b):
        return Orientation(is_mirrored=a < 0, is_flipped=d < 0)
    return Orientation(is_transposed=True, is_mirrored=c < 0, is_flipped=b < 0)


Pixels = NDArray[np.uint8]
Number = TypeVar("Number", bound=np.generic)


def plane_of(frame: VideoFrame, number: int, kind: type[Number]) -> NDArray[Number]:
    """Return one plane as rows x columns, without copying it."""
    plane = frame.planes[number]
    row_bytes = plane.line_size
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, row_bytes)
    numbers: NDArray[Number] = rows.view(kind)[:, : plane.width]
    return numbers


def planes_of(frame: VideoFrame) -> Planes:
    """Return the 8-bit luma and chroma planes, without copying them."""
    luma, blue, red = (plane_of(frame, number, np.uint8) for number in range(3))
    return Planes(luma, blue, red)
