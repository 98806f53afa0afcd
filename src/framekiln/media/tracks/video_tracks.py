"""Encodes the video of a file as H.264 for every browser: full size, and small for scrubbing.

The file is decoded once for both, and for the optional viewer. Frames are upright, progressive,
opaque, BT.709 in 8-bit 4:2:0 with square pixels, and each keeps its exact source time, at any frame
rate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Self

from av.container import OutputContainer
from av.packet import Packet
from av.video.frame import PictureType, VideoFrame
from av.video.reformatter import Interpolation
from av.video.stream import VideoStream

from framekiln.kit.closeable import Closeable
from framekiln.media.container import MAX_SIDE_PX
from framekiln.media.decode.frame_converter import FrameConverter
from framekiln.media.decode.rotation import upright_frames
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.encode.film_encoder import VideoSettings, configure_video
from framekiln.media.errors import UnreadableMedia
from framekiln.media.tracks.track_copy import clock_hz, encoded_fps, even_px, open_video_track

SCRUB_WIDTH_PX: Final = 320
_SCRUB_GROUP: Final = 10
_SCRUB_FRAGMENT_S: Final = 30
_SCRUB_CRF: Final = 26
_CRF: Final = 20
_KEYFRAME_EVERY_S: Final = 2
# Two cores keep up with larger frames only at a faster preset; quality stays, size grows.
_MAX_SLOW_PIXELS: Final = 1280 * 720
# From this reduction on, each pixel covers so many that a plain mean is as good as any filter.
_MEAN_FROM: Final = 2

OnDecodedFrame = Callable[[VideoFrame, Fraction], None]
"""Called with every decoded, upright frame and the duration of its timestamp's ticks."""


@dataclass(frozen=True)
class VideoTrackSpec:
    """Specification of one H.264 track. Width and height are even."""

    out: Path
    width_px: int
    height_px: int
    crf: int = _CRF
    group: int | None = None
    """Frames between keyframes; None for a keyframe every two seconds."""
    fragment_s: int = 0

    @classmethod
    def full_size(cls, out: Path, width_px: int, height_px: int) -> Self:
        """The displayed size of the source."""
        return cls(out, even_px(width_px), even_px(height_px))

    @classmethod
    def scrub(cls, out: Path, width_px: int, height_px: int) -> Self:
        """Small and fast to seek, for a source displayed at the given size."""
        height = round(Fraction(SCRUB_WIDTH_PX * height_px, width_px))
        return cls(
            out,
            SCRUB_WIDTH_PX,
            even_px(min(height, MAX_SIDE_PX)),
            crf=_SCRUB_CRF,
            group=_SCRUB_GROUP,
            fragment_s=_SCRUB_FRAGMENT_S,
        )


@dataclass(frozen=True)
class VideoTrackSource:
    """The file and the facts of its video."""

    path: Path
    fps: Fraction


def encode_video_tracks(
    source: VideoTrackSource,
    orders: list[VideoTrackSpec],
    *,
    tick: Callable[[], None],
    viewer: OnDecodedFrame | None = None,
) -> None:
    """Write every requested track; `tick` is called for each decoded frame."""
    is_rough = all(order.width_px <= SCRUB_WIDTH_PX for order in orders)
    with VideoDecoder(source.path, is_rough=is_rough) as decoder:
        encoders: list[_Encoder] = []
        try:
            for frame in upright_frames(decoder, tick):
                if not encoders:
                    encoders += [_Encoder(order, source, decoder.tick_s, frame) for order in orders]
                for encoder in encoders:
                    encoder.write(frame)
                if viewer is not None:
                    viewer(frame, decoder.tick_s)
            if not encoders:
                raise UnreadableMedia(f"{source.path.name}: none of its frames can be decoded")
            for encoder in encoders:
                encoder.finish()
        finally:
            for encoder in encoders:
                encoder.close()


class _Encoder(Closeable):
    """One track while it is encoded.

    A frame is encoded when the next one comes. The last becomes a keyframe, so that it is decoded
    last and its packet tells the track's end: other packets last until the next one is decoded.
    """

    def __init__(
        self, order: VideoTrackSpec, source: VideoTrackSource, tick_s: Fraction, first: VideoFrame
    ) -> None:
        self._order, self._tick_s = order, tick_s
        self._conversion = _conversion_for(order, first)
        self._next_key_s: Fraction | None = None
        self._waiting: VideoFrame | None = None
        self._container: OutputContainer = open_video_track(
            order.out, clock_hz(tick_s), fragment_s=order.fragment_s
        )
        fps = encoded_fps(source.fps)
        stream = self._container.add_stream("libx264", rate=fps)
        assert isinstance(stream, VideoStream)
        self._configure(stream, fps)
        self._stream = stream

    def write(self, frame: VideoFrame) -> None:
        """Add the next frame."""
        if self._waiting is not None:
            self._encode(self._waiting, self._type_for((self._waiting.pts or 0) * self._tick_s))
        self._waiting = frame

    def finish(self) -> None:
        """Encode the last frame, and flush the encoder."""
        assert self._waiting is not None, "a track has a frame"
        self._encode(self._waiting, PictureType.I)
        self._mux(self._stream.encode(None))

    def close(self) -> None:
        """Write the rest of the file."""
        self._container.close()

    def _encode(self, frame: VideoFrame, pict_type: PictureType) -> None:
        picture = self._conversion.to_opaque(frame)
        picture.pts, picture.time_base = frame.pts, self._tick_s
        picture.pict_type = pict_type
        self._mux(self._stream.encode(picture))

    def _mux(self, packets: "list[Packet[Any]]") -> None:
        for packet in packets:
            if self._waiting is not None and packet.pts == self._waiting.pts:
                packet.duration = self._waiting.duration or packet.duration
            self._container.mux_one(packet)

    def _type_for(self, time_s: Fraction) -> PictureType:
        if self._order.group is not None:
            return PictureType.NONE
        if self._next_key_s is None or time_s >= self._next_key_s:
            self._next_key_s = time_s + _KEYFRAME_EVERY_S
            return PictureType.I
        return PictureType.NONE

    def _configure(self, stream: VideoStream, fps: Fraction) -> None:
        order, context = self._order, stream.codec_context
        preset = _preset_for(order)
        configure_video(
            context, VideoSettings(order.width_px, order.height_px, fps, preset, order.crf)
        )
        context.time_base = stream.time_base = self._tick_s
        context.options = context.options | {"sc_threshold": "0", "forced-idr": "1"}
        if order.group is not None:
            context.gop_size = order.group
            context.options = context.options | {"keyint_min": str(order.group), "bf": "0"}


def _preset_for(order: VideoTrackSpec) -> str:
    is_large = order.width_px * order.height_px > _MAX_SLOW_PIXELS
    return "superfast" if is_large or order.group is not None else "veryfast"


def _conversion_for(order: VideoTrackSpec, first: VideoFrame) -> FrameConverter:
    shrunk = min(first.width // order.width_px, first.height // order.height_px)
    way = Interpolation.AREA if shrunk >= _MEAN_FROM else Interpolation.BICUBIC
    return FrameConverter(order.width_px, order.height_px, interpolation=way)
