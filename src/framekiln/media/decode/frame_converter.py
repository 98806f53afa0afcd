"""Converts decoded frames to the requested size, BT.709 and 8 bits.

This is the only place where colours are converted. HDR becomes SDR, and wide gamut becomes BT.709.
Frames keep their stored orientation. The result is the same bytes on every processor: swscale only
scales and repacks frames, in its bit-exact mode; `framekiln.pixels` converts colours.
"""

from typing import Final

import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from framekiln.media.decode.frame_properties import (
    Pixels,
    bt2020_transfer_of,
    colours_of,
    has_alpha,
    plane_of,
    planes_of,
)
from framekiln.media.decode.sdr_converter import DEEP_FORMAT, IN_FORMAT, sdr_converter_for
from framekiln.media.decode.tone_mapping import Bt2020Transfer
from framekiln.pixels.colours import BT709_LIMITED, Colours
from framekiln.pixels.conversion import convert_planes, rgba_to_yuv420, yuv_to_rgba

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
