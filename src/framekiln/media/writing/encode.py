"""Pictures in, an H.264 MP4 out: x264 through PyAV, in its own thread.

Output is H.264 High, 4:2:0, BT.709 limited range, constant frame rate, moov in front. The same
pictures give the same bytes on every machine: the number of encoder threads is fixed, and no
date, version or machine name is written.

A slice of a film is encoded the same way: frames n to m as a file of their own that starts at time
zero with a keyframe. No picture refers beyond its file (closed groups), and the same settings give
the same parameter sets, so `join` can put slices together without touching a picture.
"""

import queue
import threading
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

_BT709: Final = 1
_LIMITED_RANGE: Final = 1
# Part of what decides the bytes, so it may not follow the machine's cores.
_ENCODER_THREADS: Final = 2
_FRAMES_IN_FLIGHT: Final = 5
_KEYFRAME_EVERY_S: Final = 2


@dataclass(frozen=True)
class VideoSettings:
    """What the encoder is told."""

    width_px: int
    height_px: int
    fps: Fraction
    preset: str = "veryfast"
    crf: int = 18


class Layout(Enum):
    """How the pixels of a buffer lie."""

    BGRA = "bgra"
    """Rows of pixels, as pages come: height x width x 4."""
    YUV420P = "yuv420p"
    """Whole planes after each other, as the encoder wants them: one row of bytes a row of luma."""


class _Signal(Enum):
    """What can stand in the queue besides pixels."""

    FINISH = auto()
    ABANDON = auto()
    REPEAT = auto()


class Mp4Encoder:
    """Encodes frames in the order given; `with` it, and the file is whole when the block ends."""

    def __init__(self, path: Path, settings: VideoSettings, layout: Layout = Layout.BGRA) -> None:
        self._settings = settings
        self._layout = layout
        width, height = settings.width_px, settings.height_px
        shape = (height, width, 4) if layout is Layout.BGRA else (height * 3 // 2, width)
        self._free: queue.SimpleQueue[Pixels] = queue.SimpleQueue()
        for _ in range(_FRAMES_IN_FLIGHT):
            self._free.put(np.empty(shape, np.uint8))
        self._waiting: queue.SimpleQueue[Pixels | _Signal] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, args=(path,), name="mp4-encoder", daemon=True
        )

    def __enter__(self) -> "Mp4Encoder":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._waiting.put(_Signal.ABANDON if kind else _Signal.FINISH)
        self._thread.join()
        if self._failure is not None and kind is None:
            raise self._failure

    def buffer(self) -> Pixels:
        """Return a free buffer to draw the next frame into; waits while all are in use."""
        while True:
            if self._failure is not None:
                raise self._failure
            try:
                return self._free.get(timeout=1)
            except queue.Empty:
                continue

    def give_back(self, pixels: Pixels) -> None:
        """Return a buffer that was not used after all."""
        self._free.put(pixels)

    def write(self, pixels: Pixels) -> None:
        """Append the frame drawn into a buffer; the buffer is the encoder's again."""
        self._waiting.put(pixels)

    def repeat(self) -> None:
        """Append the frame before once more."""
        self._waiting.put(_Signal.REPEAT)

    def _run(self, path: Path) -> None:
        try:
            self._encode_all(path)
        except BaseException as error:
            self._failure = error

    def _encode_all(self, path: Path) -> None:
        options = {"fflags": "+bitexact"}
        with av.open(str(path), "w", format="mp4", options=options) as container:
            stream = container.add_stream("libx264", rate=self._settings.fps)
            configure_x264(stream.codec_context, self._settings)
            picture: VideoFrame | None = None
            held: Pixels | None = None
            reformatter = VideoReformatter()
            for number in range(1 << 62):
                item = self._waiting.get()
                if item is _Signal.FINISH or item is _Signal.ABANDON:
                    break
                if item is not _Signal.REPEAT:
                    picture = self._convert(reformatter, item)
                    if held is not None:
                        self._free.put(held)
                    # Planes are encoded where they lie, and may be asked for once more.
                    held = item
                assert picture is not None, "the first frame cannot be a repetition"
                picture.pts = number
                picture.time_base = 1 / self._settings.fps
                container.mux(stream.encode(picture))
            container.mux(stream.encode(None))

    def _convert(self, reformatter: VideoReformatter, pixels: Pixels) -> VideoFrame:
        frame = VideoFrame.from_numpy_buffer(pixels, format=self._layout.value)
        if self._layout is Layout.YUV420P:
            return frame
        return reformatter.reformat(
            frame,
            format="yuv420p",
            dst_colorspace=_BT709,
            dst_color_range=_LIMITED_RANGE,
        )


def configure_x264(context: "av.VideoCodecContext", settings: VideoSettings) -> None:
    """Set everything that decides how the pictures look."""
    context.width, context.height = settings.width_px, settings.height_px
    context.pix_fmt = "yuv420p"
    context.framerate = settings.fps
    context.time_base = 1 / settings.fps
    context.thread_count = _ENCODER_THREADS
    context.color_primaries = context.color_trc = context.colorspace = _BT709
    context.color_range = _LIMITED_RANGE
    context.gop_size = max(1, round(settings.fps * _KEYFRAME_EVERY_S))
    context.options = {"preset": settings.preset, "crf": str(settings.crf), "profile": "high"}
