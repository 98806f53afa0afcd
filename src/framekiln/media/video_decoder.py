"""Decodes the pictures of one file forward, from its start or from a keyframe before an instant.

Every picture comes once, in the order shown. Nothing is converted, scaled or turned here.
"""

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import av
from av.codec.context import ThreadType
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from framekiln.media.errors import UnreadableMedia
from framekiln.media.opening import LARGEST_SIDE_PX, open_media, unreadable_as_ours, video_stream

# More threads hold more pictures in memory and gain little over two or three.
_MOST_THREADS: Final = 4
# FFmpeg's own VP8 and VP9 decoders leave transparency out.
_ALPHA_DECODERS: Final = {"vp8": "libvpx", "vp9": "libvpx-vp9"}
# How far back to look when a seek has landed after the instant asked for, growing by try.
_STEPS_BACK_S: Final = (Fraction(0), Fraction(1, 2), Fraction(4), Fraction(30))


class VideoDecoder:
    """Owned by one thread. Times are in the stream's own ticks, `tick_s` long."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._context: VideoCodecContext | None = None
        self._packets: Iterator[Packet[VideoStream]] = iter(())
        self._ready: list[VideoFrame] = []
        self._open()
        self.tick_s = Fraction(self._stream.time_base or 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the file and all pictures the decoder holds."""
        self._packets = iter(())
        self._ready = []
        self._context = None
        self._container.close()

    def read(self) -> VideoFrame | None:
        """Return the next picture, with its time stamp; None after the last."""
        while not self._ready:
            packet = next(self._packets, None)
            if packet is None:
                return None
            self._ready = [f for f in self._decode(packet) if self._is_whole(f)]
        return self._ready.pop(0)

    def seek(self, ticks: int) -> bool:
        """Let the next picture be one at or before `ticks`; tell whether it is the very first."""
        for step_s in _STEPS_BACK_S:
            target = ticks - round(step_s / self.tick_s)
            if target <= self._first_ticks():
                break
            if self._seek_keyframe(target) and self._floor <= ticks:
                return False
        self._rewind()
        return True

    def keyframe_before(self, ticks: int) -> int | None:
        """Return a time near the last keyframe at or before `ticks`, if the file has an index."""
        entries = self._stream.index_entries
        number = entries.search_timestamp(ticks)
        return entries[number].timestamp if number >= 0 else None

    def _open(self) -> None:
        self._container = open_media(self._path)
        stream = video_stream(self._container)
        if stream is None:
            self._container.close()
            raise UnreadableMedia(f"{self._path.name}: has no picture")
        self._stream = stream
        self._context = _decoder_for(stream)
        self._restart()

    def _restart(self) -> None:
        self._packets = self._container.demux(self._stream)
        self._ready = []
        self._next_pts = self._stream.start_time or 0
        self._floor = -(1 << 62)

    def _rewind(self) -> None:
        # Opened anew: not every format can be wound back to its very first packet.
        self.close()
        self._open()

    def _first_ticks(self) -> int:
        return self._stream.start_time or 0

    def _seek_keyframe(self, target: int) -> bool:
        """Go to a keyframe near `target`; tell whether there is one to go on from."""
        try:
            self._container.seek(target, stream=self._stream)
        except av.FFmpegError:
            return False
        assert self._context is not None
        self._context.flush_buffers()
        self._restart()
        for packet in self._packets:
            if packet.is_keyframe and packet.pts is not None:
                # What is shown before the keyframe may need pictures from before it.
                self._floor = packet.pts
                self._ready = [f for f in self._decode(packet) if self._is_whole(f)]
                return True
        return False

    def _decode(self, packet: "Packet[VideoStream]") -> list[VideoFrame]:
        assert self._context is not None
        try:
            frames = self._context.decode(packet if packet.size else None)
        except av.InvalidDataError:
            # One broken packet costs its picture, not the film.
            return []
        except av.FFmpegError:
            with unreadable_as_ours(self._path):
                raise
        for frame in frames:
            frame.pts = self._next_pts if frame.pts is None else frame.pts
            self._next_pts = frame.pts + max(1, frame.duration)
        return frames

    def _is_whole(self, frame: VideoFrame) -> bool:
        return frame.pts is not None and frame.pts >= self._floor


def _decoder_for(stream: VideoStream) -> VideoCodecContext:
    context = stream.codec_context
    special = _ALPHA_DECODERS.get(context.codec.canonical_name)
    if special and stream.metadata.get("alpha_mode") == "1":
        created = av.CodecContext.create(special, "r")
        assert isinstance(created, VideoCodecContext)
        context = created
    context.thread_type = ThreadType.AUTO
    context.thread_count = min(_MOST_THREADS, os.cpu_count() or 1)
    context.options = {"max_pixels": str(LARGEST_SIDE_PX**2)}
    return context
