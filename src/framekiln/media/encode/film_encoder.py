"""Encodes frames with FFmpeg through PyAV, in a separate thread.

Output is BT.709 limited range at a constant frame rate; by default, H.264 High 4:2:0 in MP4. The
same frames give the same bytes in every run: the number of encoder threads is fixed, and no date,
version or machine name is written. Planes are the same bytes on every processor.

A slice of a film is encoded the same way: frames n to m as a separate file that starts at time zero
with a keyframe. No frame refers beyond its file (closed GOPs), and the same settings give the same
parameter sets, so `join_mp4` can join slices without re-encoding.
"""

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final

import av
import numpy as np
from av.codec.context import Flags
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter
from av.video.stream import VideoStream
from numpy.typing import NDArray

from framekiln.kit.cancellation import CHECK_EVERY_S, check_cancelled
from framekiln.media.decode.frame_converter import EXACT_SCALING
from framekiln.media.decode.frame_properties import plane_of, planes_of
from framekiln.media.encode.codecs import EncoderEffort, VideoCoding, encoder_options
from framekiln.media.encode.h264_slices import StreamFormat
from framekiln.media.encode.skipped_frames import FrameSchedule, FrameType, SkippedFrames
from framekiln.pixels.conversion import bgra_to_yuv420

Pixels = NDArray[np.uint8]

_BT709: Final = 1
_LIMITED_RANGE: Final = 1
# The bytes depend on it, so it must not follow the number of cores.
_ENCODER_THREADS: Final = 2
_FRAMES_IN_FLIGHT: Final = 5
_KEYFRAME_EVERY_S: Final = 2
_ALPHA_PLANE: Final = 3
_TEN_BITS: Final = "10le"


@dataclass(frozen=True)
class VideoSettings:
    """Settings of the encoder."""

    width_px: int
    height_px: int
    fps: Fraction
    preset: str = "veryfast"
    crf: float = 18
    bits_per_s: int | None = None
    """Takes precedence over `crf`."""
    coding: VideoCoding = VideoCoding.H264
    has_alpha: bool = False
    """Whether frames have alpha and keep it."""

    @property
    def effort(self) -> EncoderEffort:
        """Speed and quality of the encoder."""
        return EncoderEffort(self.preset, self.crf, self.bits_per_s)


class PixelLayout(Enum):
    """The pixel layout of a buffer."""

    BGRA = "bgra"
    """Rows of pixels, as captured from pages: height x width x 4."""
    YUV420P = "yuv420p"
    """Planes one after the other, as the encoder expects them: one row of bytes per row of luma."""
    YUVA420P = "yuva420p"
    """The same with an alpha plane after them; colours are not premultiplied."""

    def shape(self, width_px: int, height_px: int) -> tuple[int, ...]:
        """Return the shape of a buffer for frames of that size."""
        if self is PixelLayout.BGRA:
            return height_px, width_px, 4
        halves = 3 if self is PixelLayout.YUV420P else 5
        return height_px * halves // 2, width_px


class _Signal(Enum):
    """Queue entries other than pixels."""

    FINISH = auto()
    REPEAT = auto()


class FilmEncoder:
    """Encodes frames in the order given; the file is complete when the `with` block ends."""

    def __init__(
        self, path: Path, settings: VideoSettings, layout: PixelLayout = PixelLayout.BGRA
    ) -> None:
        self._settings = settings
        self._layout = layout
        shape = layout.shape(settings.width_px, settings.height_px)
        self._free: queue.SimpleQueue[Pixels] = queue.SimpleQueue()
        for _ in range(_FRAMES_IN_FLIGHT):
            self._free.put(np.empty(shape, np.uint8))
        self._waiting: queue.SimpleQueue[Pixels | _Signal] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._is_abandoned = False
        self._thread = threading.Thread(
            target=self._run, args=(path,), name="film-encoder", daemon=True
        )

    def __enter__(self) -> "FilmEncoder":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_abandoned = kind is not None
        self._waiting.put(_Signal.FINISH)
        self._thread.join()
        if self._failure is not None and kind is None:
            raise self._failure

    def buffer(self) -> Pixels:
        """Return a free buffer to draw the next frame into; waits while all are in use."""
        while True:
            if self._failure is not None:
                raise self._failure
            check_cancelled()
            try:
                return self._free.get(timeout=CHECK_EVERY_S)
            except queue.Empty:
                continue

    def release_buffer(self, pixels: Pixels) -> None:
        """Return a buffer that was not used after all."""
        self._free.put(pixels)

    def write(self, pixels: Pixels) -> None:
        """Append the frame drawn into a buffer; the buffer then belongs to the encoder."""
        self._waiting.put(pixels)

    def repeat(self) -> None:
        """Append the previous frame once more."""
        self._waiting.put(_Signal.REPEAT)

    def _run(self, path: Path) -> None:
        try:
            self._encode_all(path)
        except BaseException as error:
            self._failure = error

    def _encode_all(self, path: Path) -> None:
        settings = self._settings
        options = {"fflags": "+bitexact"}
        with av.open(
            str(path), "w", format=settings.coding.container, options=options
        ) as container:
            stream = container.add_stream(settings.coding.codec, rate=settings.fps)
            assert isinstance(stream, VideoStream)
            configure_video(stream.codec_context, settings)
            frames = _EncodedFrames(stream, settings)
            for picture, is_repeat in self._pictures():
                container.mux(frames.add(picture, is_repeat=is_repeat))
            # Frames that the encoder still holds back take seconds, and nobody wants them.
            if not self._is_abandoned:
                container.mux(frames.end())

    def _pictures(self) -> Iterator[tuple[VideoFrame, bool]]:
        """Yield incoming frames until the end signal, and whether they repeat the one before."""
        picture: VideoFrame | None = None
        held: Pixels | None = None
        reformatter = VideoReformatter()
        while True:
            item = self._waiting.get()
            if item is _Signal.FINISH or self._is_abandoned:
                return
            if item is not _Signal.REPEAT:
                picture = self._convert(reformatter, item)
                if held is not None:
                    self._free.put(held)
                # Planes are encoded in place, and may be repeated.
                held = item
            assert picture is not None, "the first frame cannot be a repetition"
            yield picture, item is _Signal.REPEAT

    def _convert(self, reformatter: VideoReformatter, pixels: Pixels) -> VideoFrame:
        settings = self._settings
        wanted = settings.coding.pixels(has_alpha=settings.has_alpha)
        frame = self._planes(pixels)
        if frame.format.name == wanted:
            return frame
        planes = self._repacked(reformatter, frame, wanted.removesuffix(_TEN_BITS))
        return _deepened(planes, wanted) if wanted.endswith(_TEN_BITS) else planes

    def _repacked(
        self, reformatter: VideoReformatter, frame: VideoFrame, wanted: str
    ) -> VideoFrame:
        return reformatter.reformat(
            frame,
            format=wanted,
            src_colorspace=_BT709,
            dst_colorspace=_BT709,
            src_color_range=_LIMITED_RANGE,
            dst_color_range=_LIMITED_RANGE,
            interpolation=Interpolation.BICUBIC | EXACT_SCALING,
        )

    def _planes(self, pixels: Pixels) -> VideoFrame:
        settings = self._settings
        if self._layout is PixelLayout.BGRA:
            frame = VideoFrame(settings.width_px, settings.height_px, PixelLayout.YUV420P.value)
            bgra_to_yuv420(pixels, planes_of(frame))
            return frame
        if self._layout is PixelLayout.YUVA420P:
            return _with_alpha(pixels, settings)
        if settings.height_px % 4:
            # Copied: without a copy PyAV assumes that every height is a multiple of four.
            return VideoFrame.from_ndarray(pixels, format=self._layout.value)
        return VideoFrame.from_numpy_buffer(pixels, format=self._layout.value)


class _EncodedFrames:
    """The packets of a stream; most frames that repeat the one before bypass the encoder.

    All go through it if the bit rate is given: it keeps to it by counting frames.
    """

    def __init__(self, stream: VideoStream, settings: VideoSettings) -> None:
        self._stream = stream
        context = stream.codec_context
        context.open(strict=False)
        # Skipped frames are decoded after the reference behind them, as only B-frames may be.
        may_skip = _may_skip(settings) and context.has_b_frames
        format_ = StreamFormat.read(context.extradata or b"") if may_skip else None
        self._schedule = FrameSchedule.of(format_, keyframe_every=context.gop_size)
        self._skipped = format_ and SkippedFrames(stream, format_, self._schedule)
        self._encoded = 0
        self._last: VideoFrame | None = None

    def add(self, picture: VideoFrame, *, is_repeat: bool) -> "list[Packet[VideoStream]]":
        """Append a frame; return the packets that are complete."""
        number = self._schedule.frame_count
        packets: list[Packet[VideoStream]] = []
        for place, frame_type in self._schedule.add(is_repeat=is_repeat):
            packets += self._encode(picture if place == number else self._last, frame_type)
        self._last = picture
        return packets

    def end(self) -> "list[Packet[VideoStream]]":
        """Return all other packets."""
        packets: list[Packet[VideoStream]] = []
        for _, frame_type in self._schedule.end():
            packets += self._encode(self._last, frame_type)
        return [*packets, *self._encode(None, FrameType.ANY)]

    def _encode(
        self, picture: VideoFrame | None, frame_type: FrameType
    ) -> "list[Packet[VideoStream]]":
        """Give the encoder its next frame, or none at the end."""
        if picture is not None:
            picture.pts = self._encoded
            picture.time_base = self._stream.codec_context.time_base
            picture.pict_type = frame_type.value
            self._encoded += 1
        packets = self._stream.encode(picture)
        return [*self._skipped.complete(packets)] if self._skipped else packets


def _may_skip(settings: VideoSettings) -> bool:
    is_known = settings.coding is VideoCoding.H264 and settings.bits_per_s is None
    return is_known and SkippedFrames.is_trusted


def _deepened(frame: VideoFrame, wanted: str) -> VideoFrame:
    """Return 8-bit planes as 10-bit planes.

    swscale could do it, but on aarch64 it fills the last columns with garbage unless the width is a
    multiple of 8.
    """
    made = VideoFrame(frame.width, frame.height, wanted)
    # The ProRes encoder takes these from the frame.
    made.colorspace, made.color_range = frame.colorspace, frame.color_range
    for number in range(len(frame.planes)):
        levels = plane_of(frame, number, np.uint8).astype(np.uint16)
        is_alpha = number == _ALPHA_PLANE
        plane_of(made, number, np.uint16)[:] = levels << 2 | (levels >> 6 if is_alpha else 0)
    return made


def _with_alpha(pixels: Pixels, settings: VideoSettings) -> VideoFrame:
    """Return a frame of four planes, copied because the encoder has its own row alignment."""
    height, width = settings.height_px, settings.width_px
    frame = VideoFrame(width, height, PixelLayout.YUVA420P.value)
    flat = pixels.reshape(-1)
    sizes = [(height, width), (height // 2, width // 2), (height // 2, width // 2), (height, width)]
    start = 0
    for plane, (rows, columns) in zip(frame.planes, sizes, strict=True):
        part = flat[start : start + rows * columns].reshape(rows, columns)
        view = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        view[:rows, :columns] = part
        start += rows * columns
    return frame


def configure_video(context: "av.VideoCodecContext", settings: VideoSettings) -> None:
    """Set everything that affects how the frames look."""
    context.width, context.height = settings.width_px, settings.height_px
    context.pix_fmt = settings.coding.pixels(has_alpha=settings.has_alpha)
    context.framerate = settings.fps
    context.time_base = 1 / settings.fps
    context.thread_count = _ENCODER_THREADS
    context.color_primaries = context.color_trc = context.colorspace = _BT709
    context.color_range = _LIMITED_RANGE
    context.gop_size = max(1, round(settings.fps * _KEYFRAME_EVERY_S))
    if settings.coding is not VideoCoding.H264:
        context.flags |= int(Flags.bitexact)
    context.options = encoder_options(
        settings.coding, settings.effort, has_alpha=settings.has_alpha
    )
