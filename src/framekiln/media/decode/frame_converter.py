"""Converts decoded frames to the requested size, BT.709 and 8 bits.

This is the only place where colours are converted. HDR becomes SDR, and wide gamut becomes BT.709.
Frames keep their stored orientation. The result is the same bytes on every processor: swscale only
scales and repacks frames, in its bit-exact mode; `framekiln.pixels` converts colours.

From 10-bit BT.2020 to 8-bit BT.709, both 4:2:0, colours are mapped once for each square of four
pixels, with its mean brightness, because 4:2:0 has one chroma sample per square. The brightness of
each pixel differs from the mean of its square as that of grey pixels would. Greys are therefore
exact to the pixel, and so is every uniform square.
"""

from functools import cache
from typing import Final

import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter
from numpy.typing import NDArray

from framekiln.media.decode.frame_properties import (
    Pixels,
    bt2020_transfer_of,
    colours_of,
    has_alpha,
    plane_of,
    planes_of,
)
from framekiln.media.decode.tone_mapping import LUMA_709, Bt2020Transfer, Numbers, ToneMapping
from framekiln.pixels.colours import BT709_LIMITED, Colours
from framekiln.pixels.conversion import convert_planes, rgba_to_yuv420, yuv_to_rgba

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


EXACT_SCALING: Final = Interpolation.ACCURATE_RND | Interpolation.BITEXACT
"""For swscale: the same bytes on every processor. Without it each has its own shortcuts."""

_OPAQUE: Final = "yuv420p"
_WITH_ALPHA: Final = "yuva420p"
_RGBA: Final = "rgba"
_BLACK: Final = (16, 128, 128)


class FrameConverter:
    """Converts the frames of one track to one size. Owned by one thread."""

    def __init__(
        self,
        width_px: int,
        height_px: int,
        *,
        interpolation: Interpolation = Interpolation.BICUBIC,
    ) -> None:
        self._size = (width_px, height_px)
        self._interpolation = interpolation
        self._scaler = VideoReformatter()
        self._light: tuple[Bt2020Transfer | None] | None = None

    def to_rgba(self, frame: VideoFrame, onto: Pixels | None = None) -> Pixels:
        """Return the frame as height x width x RGBA, full range, straight alpha.

        If possible it is written to `onto`, which is then returned.
        """
        if self._transfer_of(frame) is not None:
            return rgba_of(self._ordinary(frame), BT709_LIMITED, onto)
        if _is_rgb(frame.format):
            return pixels_of(self._sized(frame, _RGBA))
        return rgba_of(self._sized(frame, _planar(frame.format)), colours_of(frame), onto)

    def to_planes(self, frame: VideoFrame) -> VideoFrame:
        """Return the frame as 4:2:0 planes of limited range, with alpha if it has any."""
        if self._transfer_of(frame) is not None:
            return self._ordinary(frame)
        layout = _WITH_ALPHA if has_alpha(frame) else _OPAQUE
        if _is_rgb(frame.format):
            return _planes_of_rgba(pixels_of(self._sized(frame, _RGBA)), layout)
        colours = colours_of(frame)
        planes = self._sized(frame, layout)
        return planes if colours == BT709_LIMITED else _in_bt709(planes, colours)

    def to_opaque(self, frame: VideoFrame) -> VideoFrame:
        """Return the frame as 4:2:0 planes of limited range; transparent areas are black."""
        planes = self.to_planes(frame)
        return _over_black(planes) if planes.format.name == _WITH_ALPHA else planes

    def _ordinary(self, frame: VideoFrame) -> VideoFrame:
        transfer = self._transfer_of(frame)
        assert transfer is not None, "only pictures in BT.2020 have to be made ordinary"
        # On aarch64 swscale fills the last columns with garbage when it scales to 10 bits.
        is_sized = (frame.width, frame.height) == self._size and frame.format.name == IN_FORMAT
        wide = self._sized(
            frame,
            IN_FORMAT if is_sized else DEEP_FORMAT,
            matrix=Colorspace.BT2020,
            wanted_range=ColorRange.MPEG,
        )
        made = sdr_converter_for(transfer).convert(wide)
        return _with_alpha(made, self._sized(frame, _WITH_ALPHA)) if has_alpha(frame) else made

    def _sized(
        self,
        frame: VideoFrame,
        layout: str,
        *,
        matrix: Colorspace = Colorspace.ITU709,
        wanted_range: ColorRange | None = None,
    ) -> VideoFrame:
        """Return the frame scaled and in another pixel format; its colours keep their meaning.

        The matrix matters only when RGB becomes planes: planes keep their own matrix.
        """
        levels = ColorRange.JPEG if colours_of(frame).is_full_range else ColorRange.MPEG
        width, height = self._size
        return self._scaler.reformat(
            frame,
            width=width,
            height=height,
            format=layout,
            src_colorspace=matrix,
            dst_colorspace=matrix,
            src_color_range=levels,
            dst_color_range=wanted_range or levels,
            interpolation=self._interpolation | EXACT_SCALING,
            threads=1,
        )

    def _transfer_of(self, frame: VideoFrame) -> Bt2020Transfer | None:
        # All frames of a track have the same transfer curve.
        if self._light is None:
            self._light = (bt2020_transfer_of(frame),)
        return self._light[0]


def pixels_of(frame: VideoFrame) -> Pixels:
    """Return a frame of four bytes per pixel as height x width x 4, without copying it."""
    rows = plane_of(frame, 0, np.uint32)
    return rows.view(np.uint8).reshape(*rows.shape, 4)


def rgba_of(frame: VideoFrame, colours: Colours, onto: Pixels | None = None) -> Pixels:
    """Return 8-bit planes as height x width x RGBA of full range."""
    made = np.empty((frame.height, frame.width, 4), np.uint8) if onto is None else onto
    alpha = plane_of(frame, 3, np.uint8) if has_alpha(frame) else None
    yuv_to_rgba(planes_of(frame), colours, made, alpha=alpha)
    return made


def _is_rgb(layout: VideoFormat) -> bool:
    return layout.is_rgb or layout.has_palette


def _planar(layout: VideoFormat) -> str:
    """Return the 8-bit planar format that keeps all, or nearly all, chroma samples."""
    halves = "444" if "444" in layout.name else "422" if "422" in layout.name else "420"
    return f"yuv{'a' if any(each.is_alpha for each in layout.components) else ''}{halves}p"


def _in_bt709(planes: VideoFrame, colours: Colours) -> VideoFrame:
    made = VideoFrame(planes.width, planes.height, planes.format.name)
    convert_planes(planes_of(planes), colours, BT709_LIMITED, planes_of(made))
    if has_alpha(planes):
        plane_of(made, 3, np.uint8)[:] = plane_of(planes, 3, np.uint8)
    return made


def _planes_of_rgba(rgba: Pixels, layout: str) -> VideoFrame:
    height, width = rgba.shape[:2]
    made = VideoFrame(width, height, layout)
    rgba_to_yuv420(rgba, planes_of(made))
    if layout == _WITH_ALPHA:
        plane_of(made, 3, np.uint8)[:] = rgba[..., 3]
    return made


def _with_alpha(colours: VideoFrame, alpha: VideoFrame) -> VideoFrame:
    """Return the planes of one frame with the alpha plane of another of the same size."""
    for number in range(3):
        plane_of(alpha, number, np.uint8)[:] = plane_of(colours, number, np.uint8)
    return alpha


def _over_black(frame: VideoFrame) -> VideoFrame:
    made = VideoFrame(frame.width, frame.height, _OPAQUE)
    alpha = plane_of(frame, 3, np.uint8).astype(np.int32)
    for number, black in enumerate(_BLACK):
        cover = alpha if number == 0 else alpha[::2, ::2]
        colour = plane_of(frame, number, np.uint8).astype(np.int32) - black
        plane_of(made, number, np.uint8)[:] = black + (colour * cover + 127) // 255
    return made
