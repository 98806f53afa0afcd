"""Decodes the video frames of one file in order, from the start or from a keyframe.

Every frame comes once, in presentation order. Interlaced frames are deinterlaced; nothing is
converted, scaled or rotated here.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Final

import av
from av.codec.context import ThreadType
from av.container import InputContainer
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from framekiln.kit.cancellation import check_cancelled
from framekiln.kit.closeable import Closeable
from framekiln.media.container import (
    MAX_SIDE_PX,
    has_alpha_track,
    has_decode_times_only,
    is_avi,
    open_media,
    translate_ffmpeg_errors,
    video_stream,
)
from framekiln.media.decode.filter_chain import Deinterlacer, is_interlaced_order
from framekiln.media.errors import UnreadableMedia
from framekiln.media.keyframes import is_clean_start
from framekiln.media.last_frame import LastFrame

# More threads hold more frames in memory and gain little over two or three.
_MAX_THREADS: Final = 4
# FFmpeg's own VP8 and VP9 decoders ignore alpha.
_ALPHA_DECODERS: Final = {"vp8": "libvpx", "vp9": "libvpx-vp9"}
_SLOWEST_FPS: Final = Fraction(5)
# How far back to retry when a seek landed after the requested time.
_STEPS_BACK_S: Final = (Fraction(0), Fraction(1, 2), Fraction(4), Fraction(30))


class VideoDecoder(Closeable):
    """Decodes one file. Owned by one thread. Times are in the stream's own ticks, `tick_s` long.

    `is_rough` skips the loop filter of B-frames: for frames that are shown much smaller.
    """

    def __init__(self, path: Path, *, is_rough: bool = False) -> None:
        self._path = path
        self._is_rough = is_rough
        self._file: _File | None = None
        self._packets: Iterator[Packet[VideoStream]] = iter(())
        self._ready: list[VideoFrame] = []
        self._open()

    def close(self) -> None:
        """Free the file, the decoder's threads and all frames it holds."""
        if self._file is not None:
            self._file.container.close()
        self._file = None
        self._packets = iter(())
        self._ready = []

    def read(self) -> VideoFrame | None:
        """Return the next frame with its timestamp; None after the last."""
        self._has_begun = True
        self._fill()
        return self._ready.pop(0) if self._ready else None

    @property
    def is_deinterlacing(self) -> bool:
        """Whether frames read so far were interlaced; containers may say the contrary."""
        return self._whole.has_begun

    def seek(self, ticks: int) -> bool:
        """Make the next frame one at or before `ticks`; return whether it is the very first."""
        first = self._opened.stream.start_time or 0
        for step_s in _STEPS_BACK_S:
            target = ticks - self._deinterlace_margin - round(step_s / self.tick_s)
            if target <= first:
                break
            if self._begin_at_keyframe(target, latest=ticks):
                return False
        if self._has_begun:
            # Reopened: not every format can seek back to its very first packet.
            self.close()
            self._open()
        return True

    def keyframe_before(self, ticks: int) -> int | None:
        """Return a time near the last keyframe at or before `ticks`, if the file's index has it."""
        entries = self._opened.stream.index_entries
        # The index of a fragmented file grows only while it is read.
        if not len(entries) or entries[-1].timestamp < ticks:
            return None
        number = entries.search_timestamp(ticks)
        return entries[number].timestamp if number >= 0 else None

    @property
    def _opened(self) -> "_File":
        assert self._file is not None, "the decoder is closed"
        return self._file

    @property
    def _deinterlace_margin(self) -> int:
        """How many ticks earlier to start: deinterlacing a frame needs the one before it."""
        stream = self._opened.stream
        if not is_interlaced_order(stream.codec_context.field_order):
            return 0
        fps = stream.guessed_rate or stream.average_rate or _SLOWEST_FPS
        return ceil(1 / (max(fps, _SLOWEST_FPS) * self.tick_s))

    def _open(self) -> None:
        container = open_media(self._path)
        stream = video_stream(container)
        if stream is None:
            container.close()
            raise UnreadableMedia(f"{self._path.name}: has no frames")
        self._file = _File(container, stream, _decoder_for(stream, is_rough=self._is_rough))
        self.tick_s = Fraction(stream.time_base or 0)
        self._has_begun = False
        self._restart()

    def _restart(self) -> None:
        stream = self._opened.stream
        self._packets = self._opened.container.demux(stream)
        self._ready = []
        self._whole = Deinterlacer(self.tick_s, stream.codec_context.field_order)
        self._next_pts = stream.start_time or 0
        self._decode_times: list[int] | None = [] if has_decode_times_only(stream) else None
        self._floor = -(1 << 62)
        self._last = LastFrame()
        self._is_at_end = False

    def _begin_at_keyframe(self, target: int, *, latest: int) -> bool:
        """Seek to a keyframe near `target`; return whether decoding can start there.

        Where pictures are refreshed part by part, containers also call the start of a refresh a
        keyframe; whole frames come out of the decoder much later.
        """
        packet = self._seek_packet(target)
        if packet is None or packet.pts is None or packet.pts > latest:
            return False
        if self._decode_times is not None and not _is_closed(packet):
            # Times are given in the order of frames, and those shown before it are missing.
            return False
        # Frames shown before the keyframe may depend on frames before it.
        self._floor = packet.pts
        self._ready = self._decode(packet)
        self._fill()
        first = next(iter(self._ready), None)
        return first is not None and first.key_frame and (first.pts or 0) <= latest

    def _seek_packet(self, target: int) -> "Packet[VideoStream] | None":
        """Seek; return the first keyframe there."""
        file = self._opened
        self._has_begun = True
        try:
            file.container.seek(target, stream=file.stream)
        except av.FFmpegError:
            return None
        file.context.flush_buffers()
        self._restart()
        for packet in self._packets:
            check_cancelled()
            if packet.is_keyframe and packet.pts is not None:
                return packet
        return None

    def _fill(self) -> None:
        """Decode until a frame is ready, or the file ends."""
        while not self._ready:
            check_cancelled()
            packet = next(self._packets, None)
            self._ready = self._whole.finish() if packet is None else self._decode(packet)
            if packet is None:
                return

    def _decode(self, packet: "Packet[VideoStream]") -> list[VideoFrame]:
        self._last.add(packet)
        self._is_at_end = not packet.size
        if self._decode_times is not None and packet.size and packet.pts is not None:
            self._decode_times.append(packet.pts)
        try:
            with translate_ffmpeg_errors(self._path):
                frames = self._opened.context.decode(packet if packet.size else None)
        except UnreadableMedia as error:
            # A broken packet loses its frame, not the film.
            if isinstance(error.__cause__, av.InvalidDataError):
                return []
            raise
        usable = (frame for frame in frames if self._stamp(frame) >= self._floor)
        return [whole for frame in usable for whole in self._whole.push(frame)]

    def _stamp(self, frame: VideoFrame) -> int:
        """Give a frame without a timestamp the one that follows the previous frame's."""
        stamp = self._stamp_of(frame)
        pts = self._next_pts if stamp is None else stamp
        frame.pts = pts
        # A frame that is not shown in the order of decoding comes out after the last packet.
        if self._is_at_end and pts == self._last.pts:
            frame.duration = self._last.measure(self._path, self._opened.stream) or frame.duration
        self._next_pts = pts + max(1, frame.duration)
        return pts

    def _stamp_of(self, frame: VideoFrame) -> int | None:
        if self._decode_times is not None:
            return self._next_decode_time(frame)
        return frame.dts if is_avi(self._opened.stream) else frame.pts

    def _next_decode_time(self, frame: VideoFrame) -> int | None:
        """Return the earliest time at which a frame was decoded that no frame has yet."""
        assert self._decode_times is not None
        if frame.key_frame and frame.pts is not None:
            # Packets before it that gave no frame are broken: it would be early by their number.
            self._decode_times = [time for time in self._decode_times if time >= frame.pts]
        return self._decode_times.pop(0) if self._decode_times else None


@dataclass(frozen=True)
class _File:
    """Resources that are freed together."""

    container: InputContainer
    stream: VideoStream
    context: VideoCodecContext


def _is_closed(packet: "Packet[VideoStream]") -> bool:
    """Return whether no frame of H.264 after a keyframe is shown before it."""
    return is_clean_start("h264", packet.stream.codec_context.extradata or b"", bytes(packet))


def _decoder_for(stream: VideoStream, *, is_rough: bool) -> VideoCodecContext:
    context = stream.codec_context
    special = _ALPHA_DECODERS.get(context.codec.canonical_name)
    if special and has_alpha_track(stream):
        created = av.CodecContext.create(special, "r")
        assert isinstance(created, VideoCodecContext)
        context = created
    context.thread_type = ThreadType.AUTO
    context.thread_count = min(_MAX_THREADS, os.cpu_count() or 1)
    rough = {"skip_loop_filter": "bidir"} if is_rough else {}
    context.options = {"max_pixels": str(MAX_SIDE_PX**2)} | rough
    return context
