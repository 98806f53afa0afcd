"""Converts 10-bit BT.2020 planes to 8-bit BT.709 planes, both 4:2:0.

Colours are mapped once for each square of four pixels, with its mean brightness, because 4:2:0 has
one chroma sample per square. The brightness of each pixel differs from the mean of its square as
that of grey pixels would. Greys are therefore exact to the pixel, and so is every uniform square.
"""

from functools import cache
from typing import Final

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from framekiln.media.decode.frame_properties import Pixels, plane_of
from framekiln.media.decode.tone_mapping import LUMA_709, Bt2020Transfer, Numbers, ToneMapping

IN_FORMAT: Final = "yuv420p10le"
DEEP_FORMAT: Final = "yuv420p16le"
OUT_FORMAT: Final = "yuv420p"

_Codes = NDArray[np.uint16]

_LEVELS: Final = 1024
_HIGHEST_DEEP: Final = np.uint16(1023 << 6)
# Below this, grey is too dark to measure how much brighter or darker than the mean a pixel is.
_DARK: Final = 0.02
_MIN_GAIN: Final = 0.5
_MAX_GAIN: Final = 2.0
# This many rows fit into a processor's cache.
_ROWS: Final = 32


class SdrConverter:
    """Converts frames with one transfer; get it from `sdr_converter_for`."""

    def __init__(self, transfer: Bt2020Transfer) -> None:
        self._mapping = ToneMapping(transfer)
        # Sums of four codes, so that the mean of a square need not be rounded.
        grey = ((np.arange(4 * _LEVELS) / 4 - 64) / 876).astype(np.float32)
        self._grey_of_four = self._mapping.apply((grey, grey, grey))[1]
        self._grey_codes = 219 * self._grey_of_four[::4]

    def convert(self, frame: VideoFrame) -> VideoFrame:
        """Return a frame of `IN_FORMAT` or `DEEP_FORMAT` as one of `OUT_FORMAT`."""
        luma, blue, red = (_codes(frame, n) for n in range(3))
        made = VideoFrame(frame.width, frame.height, OUT_FORMAT)
        targets = [plane_of(made, n, np.uint8) for n in range(3)]
        height, width = (2 * side for side in blue.shape)
        if luma.shape != (height, width):
            luma = np.pad(luma, ((0, height - len(luma)), (0, width - luma.shape[1])), "edge")
        for top in range(0, len(blue), _ROWS):
            rows, double = slice(top, top + _ROWS), slice(2 * top, 2 * (top + _ROWS))
            self._convert_rows(
                (luma[double], blue[rows], red[rows]),
                (targets[0][double], targets[1][rows], targets[2][rows]),
            )
        return made

    def _convert_rows(
        self, planes: tuple[_Codes, _Codes, _Codes], targets: tuple[Pixels, Pixels, Pixels]
    ) -> None:
        luma, blue, red = planes
        four = luma[::2, ::2] + luma[::2, 1::2] + luma[1::2, ::2] + luma[1::2, 1::2]
        mean = four.astype(np.float32) * (0.25 / 876) - 64 / 876
        mapped = self._mapping.apply(_as_rgb(mean, blue, red))
        bright = LUMA_709[0] * mapped[0] + LUMA_709[1] * mapped[1] + LUMA_709[2] * mapped[2]
        targets[1][:] = (mapped[2] - bright) * (224 / 1.8556) + 128.5
        targets[2][:] = (mapped[0] - bright) * (224 / 1.5748) + 128.5
        grey = self._grey_of_four.take(four, mode="clip")
        gain = np.clip(bright / np.maximum(grey, _DARK), _MIN_GAIN, _MAX_GAIN)
        base = (bright - grey * gain) * 219 + 16.5
        # "clip": no value in a damaged file indexes outside the table.
        codes = self._grey_codes.take(luma, mode="clip")
        squares = codes.reshape(len(gain), 2, -1)
        squares *= np.repeat(gain, 2, axis=1)[:, None]
        squares += np.repeat(base, 2, axis=1)[:, None]
        height, width = targets[0].shape
        targets[0][:] = np.clip(codes, 16, 235)[:height, :width]


def _codes(frame: VideoFrame, number: int) -> _Codes:
    """Return a plane as 10-bit codes."""
    codes = plane_of(frame, number, np.uint16)
    if frame.format.name == IN_FORMAT:
        return codes
    rounded: _Codes = np.minimum(codes, _HIGHEST_DEEP) + np.uint16(32)
    return rounded >> np.uint16(6)


@cache
def sdr_converter_for(transfer: Bt2020Transfer) -> SdrConverter:
    """Return the converter for a transfer."""
    return SdrConverter(transfer)


def _as_rgb(grey: Numbers, blue: _Codes, red: _Codes) -> tuple[Numbers, Numbers, Numbers]:
    """Return R'G'B' of BT.2020 for the brightness and the chroma codes."""
    cb = blue.astype(np.float32) * (1 / 896) - 512 / 896
    cr = red.astype(np.float32) * (1 / 896) - 512 / 896
    return grey + 1.4746 * cr, grey - 0.16455 * cb - 0.57135 * cr, grey + 1.8814 * cb
