"""The frame of a video at a time, exact, at a given size.

It is the last frame that starts at or before the time. Before the first frame it is the first one,
after the end the last. Playing forward decodes each frame once; seeks use keyframes. It holds two
frames in addition to those of the decoder, for files of any length.
"""

from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Final

import numpy as np
from av.video.frame import VideoFrame

from framekiln.kit.closeable import Closeable
from framekiln.media.decode.frame_converter import FrameConverter
from framekiln.media.decode.frame_properties import Orientation, Pixels, orientation_of, plane_of
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.errors import UnreadableMedia
from framekiln.media.frame_slots import FramePlanes

_DECODE_THROUGH_S: Final = 2
# Timestamps are rounded to the container's ticks (1 ms in WebM), so a frame counts as due within
# half a tick. Never more: old MOV files have exact ticks as long as a frame.
_MAX_SLACK_S: Final = Fraction(1, 1000)
_MIN_SLACK_S: Final = Fraction(1, 1_000_000)


def latest_due_ticks(at_s: Fraction, tick_s: Fraction) -> int:
    """Return the latest timestamp, in ticks of a track, of a frame that is due at an instant."""
    return floor((at_s + _slack_s(tick_s)) / tick_s)


def _slack_s(tick_s: Fraction) -> Fraction:
    return max(_MIN_SLACK_S, min(tick_s / 2, _MAX_SLACK_S))


class FrameSource(Closeable):
    """Frames of one file by time. Owned by one thread; close it, or use `with`."""

    def __init__(self, path: Path, *, width_px: int, height_px: int) -> None:
        self._path = path
        self._size = (width_px, height_px)
        self._decoder = VideoDecoder(path)
        tick_s = self._decoder.tick_s
        self._far_ticks = round(_DECODE_THROUGH_S / tick_s)
        self._ticks_per_ms, self._slack_ticks = 1 / (1000 * tick_s), _slack_s(tick_s) / tick_s
        self._conversion: FrameConverter | None = None
        self._shown: VideoFrame | None = None
        self._next: VideoFrame | None = None
        self._is_first = False
        self._rgba: Pixels | None = None
        self._orientation: Orientation | None = None

    def close(self) -> None:
        """Free the decoder and all frames."""
        self._decoder.close()
        self._shown = self._next = self._rgba = None

    def shown_ms(self, ms: Fraction) -> Fraction:
        """Return when the frame shown at `ms` starts; equal for equal frames."""
        return _pts(self._find(ms)) * self._decoder.tick_s * 1000

    def rgba_at(self, ms: Fraction) -> Pixels:
        """Return the frame at source time `ms`: height x width x RGBA, straight alpha.

        The array is read-only and may be returned again for the next instant.
        """
        frame = self._find(ms)
        if self._rgba is None:
            self._rgba = self._to_rgba(frame)
        return self._rgba

    def yuv_at(self, ms: Fraction) -> FramePlanes:
        """Return the frame at source time `ms` as planes; width and height must be even."""
        frame = self._find(ms)
        orientation = self._orientation_of(frame)
        converted = self._conversion_for(orientation).to_planes(frame)
        stored = (plane_of(converted, n, np.uint8) for n in range(len(converted.planes)))
        planes = [orientation.apply(plane) for plane in stored]
        luma, blue, red, *alpha = (np.ascontiguousarray(plane) for plane in planes)
        return FramePlanes(luma, blue, red, alpha[0] if alpha else None)

    def write_rgba(self, ms: Fraction, onto: Pixels) -> None:
        """Write what `rgba_at` returns."""
        frame = self._find(ms)
        orientation = self._orientation_of(frame)
        is_upright = orientation == Orientation()
        made = self._conversion_for(orientation).to_rgba(frame, onto if is_upright else None)
        if made is not onto:
            onto[...] = orientation.apply(made)

    def write_yuv(self, ms: Fraction, onto: FramePlanes) -> bool:
        """Write what `yuv_at` returns; return whether it has alpha."""
        frame = self._find(ms)
        orientation = self._orientation_of(frame)
        converted = self._conversion_for(orientation).to_planes(frame)
        targets = [onto.luma, onto.blue, onto.red, onto.alpha]
        for number, target in zip(range(len(converted.planes)), targets, strict=False):
            assert target is not None
            target[...] = orientation.apply(plane_of(converted, number, np.uint8))
        return len(converted.planes) == len(targets)

    def _find(self, ms: Fraction) -> VideoFrame:
        # Same as `latest_due_ticks`, with less arithmetic, because it runs for every frame.
        due = floor(ms * self._ticks_per_ms + self._slack_ticks)
        if self._is_far(due):
            self._begin(due)
        while self._next is not None and _pts(self._next) <= due:
            self._show(self._next)
            self._is_first = False
            self._next = self._decoder.read()
        assert self._shown is not None
        return self._shown

    def _is_far(self, due: int) -> bool:
        if self._shown is None:
            return True
        if due < _pts(self._shown):
            return not self._is_first
        if self._next is None or due < _pts(self._next) + self._far_ticks:
            return False
        keyframe = self._decoder.keyframe_before(due)
        return keyframe is None or keyframe > _pts(self._next)

    def _begin(self, due: int) -> None:
        self._next = None
        self._is_first = self._decoder.seek(due)
        frame = self._decoder.read()
        if frame is None:
            raise UnreadableMedia(f"{self._path.name}: none of its frames can be decoded")
        self._show(frame)
        self._next = self._decoder.read()

    def _show(self, frame: VideoFrame) -> None:
        self._shown = frame
        self._rgba = None

    def _to_rgba(self, frame: VideoFrame) -> Pixels:
        orientation = self._orientation_of(frame)
        converted = self._conversion_for(orientation).to_rgba(frame)
        pixels = np.ascontiguousarray(orientation.apply(converted))
        pixels.flags.writeable = False
        return pixels

    def _conversion_for(self, orientation: Orientation) -> FrameConverter:
        if self._conversion is None:
            width, height = self._size
            stored = (height, width) if orientation.is_transposed else (width, height)
            self._conversion = FrameConverter(*stored)
        return self._conversion

    def _orientation_of(self, frame: VideoFrame) -> Orientation:
        # All frames of a track have the same orientation.
        if self._orientation is None:
            self._orientation = orientation_of(frame)
        return self._orientation


def _pts(frame: VideoFrame) -> int:
    assert frame.pts is not None
    return frame.pts
