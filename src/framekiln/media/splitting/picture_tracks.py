"""Encodes the pictures of a file as H.264 that every browser plays: whole, and small for scrubbing.

The file is decoded once for both. Pictures are upright, progressive, 8 bit 4:2:0 with square
pixels, and each is shown at the very time it has in the source, at whatever rate they come.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Self

from av.container import OutputContainer
from av.packet import Packet
from av.video.frame import PictureType, VideoFrame
from av.video.reformatter import (
    ColorPrimaries,
    ColorRange,
    Colorspace,
    Interpolation,
    VideoReformatter,
)
from av.video.stream import VideoStream

from framekiln.media.closing import Closing
from framekiln.media.errors import UnreadableMedia
from framekiln.media.opening import LARGEST_SIDE_PX
from framekiln.media.splitting.track_output import clock_hz, open_video_track
from framekiln.media.watching.pictures import matrix_of, orientation_of, range_of
from framekiln.media.watching.upright import Upright
from framekiln.media.watching.video_decoder import VideoDecoder
from framekiln.media.writing.encode import VideoSettings, configure_x264

SCRUB_WIDTH_PX: Final = 320
_SCRUB_GROUP: Final = 10
_SCRUB_FRAGMENT_S: Final = 30
_SCRUB_CRF: Final = 26
_CRF: Final = 20
_KEYFRAME_EVERY_S: Final = 2
_USUAL_FPS: Final = Fraction(30)
_FASTEST_FPS: Final = 240
# AVColorTransferCharacteristic: brightness that only the wide colours of BT.2020 go with.
_HDR_CURVES: Final = {16, 18}


@dataclass(frozen=True)
class PictureOrder:
    """What one H.264 track is to be. Sides are even."""

    out: Path
    width_px: int
    height_px: int
    crf: int = _CRF
    group: int | None = None
    """Pictures between keyframes; None for a keyframe every two seconds, however many that are."""
    fragment_s: int = 0

    @classmethod
    def whole(cls, out: Path, width_px: int, height_px: int) -> Self:
        """As large as the source is shown."""
        return cls(out, _even(width_px), _even(height_px))

    @classmethod
    def scrub(cls, out: Path, width_px: int, height_px: int) -> Self:
        """Small and quick to wind through, for a source shown in the given size."""
        height = round(Fraction(SCRUB_WIDTH_PX * height_px, width_px))
        return cls(
            out,
            SCRUB_WIDTH_PX,
            _even(min(height, LARGEST_SIDE_PX)),
            crf=_SCRUB_CRF,
            group=_SCRUB_GROUP,
            fragment_s=_SCRUB_FRAGMENT_S,
        )


@dataclass(frozen=True)
class PictureSource:
    """The file, and what was found out about its pictures."""

    path: Path
    fps: Fraction
    is_interlaced: bool = False


def encode_pictures(
    source: PictureSource, orders: list[PictureOrder], *, tick: Callable[[], None]
) -> None:
    """Write every track ordered; `tick` is called for each picture decoded."""
    with VideoDecoder(source.path) as decoder:
        encoders: list[_Encoder] = []
        try:
            for frame in _upright_frames(decoder, source, tick):
                if not encoders:
                    encoders += [_Encoder(order, source, decoder.tick_s, frame) for order in orders]
                for encoder in encoders:
                    encoder.write(frame)
            if not encoders:
                raise UnreadableMedia(f"{source.path.name}: none of its pictures can be decoded")
            for encoder in encoders:
                encoder.finish()
        finally:
            for encoder in encoders:
                encoder.close()


def _upright_frames(
    decoder: VideoDecoder, source: PictureSource, tick: Callable[[], None]
) -> Iterator[VideoFrame]:
    frame = decoder.read()
    if frame is None:
        return
    upright = Upright(orientation_of(frame), decoder.tick_s, is_interlaced=source.is_interlaced)
    last_pts: int | None = None
    while frame is not None:
        # Two pictures at one time, or one out of turn: the first is the one that is shown.
        if frame.pts is not None and (last_pts is None or frame.pts > last_pts):
            last_pts = frame.pts
            yield from upright.pass_on(frame)
        tick()
        frame = decoder.read()
    yield from upright.finish()


class _Encoder(Closing):
    """One track on its way."""

    def __init__(
        self, order: PictureOrder, source: PictureSource, tick_s: Fraction, first: VideoFrame
    ) -> None:
        self._order, self._tick_s = order, tick_s
        self._reformatter = VideoReformatter()
        self._matrix = _matrix_for(first)
        self._next_key_s: Fraction | None = None
        self._container: OutputContainer = open_video_track(
            order.out, clock_hz(tick_s), fragment_s=order.fragment_s
        )
        fps = source.fps if 1 <= source.fps <= _FASTEST_FPS else _USUAL_FPS
        stream = self._container.add_stream("libx264", rate=fps)
        assert isinstance(stream, VideoStream)
        settings = VideoSettings(order.width_px, order.height_px, fps, crf=order.crf)
        self._configure(stream, settings, first)
        self._stream = stream

    def write(self, frame: VideoFrame) -> None:
        """Encode one picture at its time."""
        picture = self._reformatter.reformat(
            frame,
            width=self._order.width_px,
            height=self._order.height_px,
            format="yuv420p",
            src_colorspace=matrix_of(frame),
            dst_colorspace=self._matrix,
            src_color_range=range_of(frame),
            dst_color_range=ColorRange.MPEG,
            interpolation=Interpolation.BICUBIC,
            threads=1,
        )
        picture.pts, picture.time_base = frame.pts, self._tick_s
        picture.pict_type = self._type_for((frame.pts or 0) * self._tick_s)
        self._mux(self._stream.encode(picture))

    def finish(self) -> None:
        """Encode what the encoder has kept back."""
        self._mux(self._stream.encode(None))

    def close(self) -> None:
        """Write the rest of the file."""
        self._container.close()

    def _mux(self, packets: "list[Packet[Any]]") -> None:
        for packet in packets:
            self._container.mux_one(packet)

    def _type_for(self, time_s: Fraction) -> PictureType:
        if self._order.group is not None:
            return PictureType.NONE
        if self._next_key_s is None or time_s >= self._next_key_s:
            self._next_key_s = time_s + _KEYFRAME_EVERY_S
            return PictureType.I
        return PictureType.NONE

    def _configure(self, stream: VideoStream, settings: VideoSettings, first: VideoFrame) -> None:
        context = stream.codec_context
        configure_x264(context, settings)
        context.time_base = stream.time_base = self._tick_s
        context.options = context.options | {"sc_threshold": "0", "forced-idr": "1"}
        if self._order.group is not None:
            context.gop_size = self._order.group
            context.options = context.options | {"keyint_min": str(self._order.group), "bf": "0"}
        if self._matrix is Colorspace.BT2020:
            context.color_primaries, context.color_trc = ColorPrimaries.BT2020, first.color_trc
            context.colorspace = Colorspace.BT2020


def _matrix_for(first: VideoFrame) -> Colorspace:
    """All becomes BT.709, as `configure_x264` tags it; only high dynamic range stays itself."""
    return Colorspace.BT2020 if first.color_trc in _HDR_CURVES else Colorspace.ITU709


def _even(side_px: int) -> int:
    return max(2, side_px - side_px % 2)
