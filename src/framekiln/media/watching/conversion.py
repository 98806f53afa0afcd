"""Makes decoded pictures ready for use: sized, in BT.709, 8 bits, whatever they were before.

The one place where colours are converted. High dynamic range becomes ordinary, wide colours become
those of BT.709. Pictures stay the way up they are stored.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from framekiln.media.watching.pictures import has_alpha, light_of, matrix_of, range_of
from framekiln.media.watching.planes import plane_of
from framekiln.media.watching.sdr_planes import IN_FORMAT, planes_for
from framekiln.media.watching.tone_mapping import Light

# What films are made of: scaled as planes and then converted, they cost half of both at once.
_PLANAR: Final = {"yuv420p", "yuvj420p"}
_OPAQUE: Final = "yuv420p"
_WITH_ALPHA: Final = "yuva420p"
# The quick way from planes to RGBA leaves the last column out if there is an odd number of them.
_EXACTLY: Final = Interpolation.ACCURATE_RND
_BLACK: Final = (16, 128, 128)


class Conversion:
    """For the pictures of one track and one size. Owned by one thread."""

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
        self._converter = VideoReformatter()
        self._light: tuple[Light | None] | None = None

    def to_rgba(self, frame: VideoFrame) -> VideoFrame:
        """Return the picture as RGBA of full range, alpha straight."""
        if self._light_of(frame) is not None:
            frame, colours = self._ordinary(frame), _SCREEN
        else:
            colours = _Colours(matrix_of(frame), range_of(frame))
        if frame.format.name in _PLANAR:
            frame = self._reformat(self._scaler, frame, colours, (frame.format.name, colours))
        return self._reformat(self._converter, frame, colours, ("rgba", _FULL))

    def to_planes(self, frame: VideoFrame) -> VideoFrame:
        """Return the picture as 4:2:0 planes of limited range, with alpha if it has any."""
        if self._light_of(frame) is not None:
            return self._ordinary(frame)
        colours = _Colours(matrix_of(frame), range_of(frame))
        layout = _WITH_ALPHA if has_alpha(frame) else _OPAQUE
        return self._reformat(self._converter, frame, colours, (layout, _SCREEN))

    def to_opaque(self, frame: VideoFrame) -> VideoFrame:
        """Return the picture as 4:2:0 planes of limited range; what shows through is black."""
        planes = self.to_planes(frame)
        return _over_black(planes) if planes.format.name == _WITH_ALPHA else planes

    def _ordinary(self, frame: VideoFrame) -> VideoFrame:
        light = self._light_of(frame)
        assert light is not None, "only pictures in BT.2020 have to be made ordinary"
        colours = _Colours(Colorspace.BT2020, range_of(frame))
        wide = self._reformat(self._scaler, frame, colours, (IN_FORMAT, _WIDE))
        made = planes_for(light).convert(wide)
        if not has_alpha(frame):
            return made
        return _with_alpha(
            made, self._reformat(self._converter, frame, colours, (_WITH_ALPHA, _SCREEN))
        )

    def _reformat(
        self,
        reformatter: VideoReformatter,
        frame: VideoFrame,
        colours: "_Colours",
        wanted: "tuple[str, _Colours]",
    ) -> VideoFrame:
        layout, meant = wanted
        width, height = self._size
        return reformatter.reformat(
            frame,
            width=width,
            height=height,
            format=layout,
            src_colorspace=colours.matrix,
            src_color_range=colours.levels,
            dst_colorspace=meant.matrix,
            dst_color_range=meant.levels,
            interpolation=self._interpolation | (_EXACTLY if width % 2 else 0),
            threads=1,
        )

    def _light_of(self, frame: VideoFrame) -> Light | None:
        # All pictures of a track are lit alike.
        if self._light is None:
            self._light = (light_of(frame),)
        return self._light[0]


@dataclass(frozen=True)
class _Colours:
    """What the numbers of a picture mean."""

    matrix: Colorspace
    levels: ColorRange


_FULL: Final = _Colours(Colorspace.ITU709, ColorRange.JPEG)
_SCREEN: Final = _Colours(Colorspace.ITU709, ColorRange.MPEG)
_WIDE: Final = _Colours(Colorspace.BT2020, ColorRange.MPEG)


def _with_alpha(colours: VideoFrame, alpha: VideoFrame) -> VideoFrame:
    """Return the planes of one picture with the transparency of another of the same size."""
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
