"""Deinterlaces frames.

Each input frame gives one output frame, at the same time. Frames that are not marked as interlaced
stay unchanged, unless their whole track is marked.
"""

from fractions import Fraction
from typing import Final

from av.video.frame import VideoFrame

from framekiln.media.decode.filter_chain import FilterChain

# AVFieldOrder: unknown, or progressive.
_NOT_INTERLACED: Final = {0, 1}
_BOTTOM_SHOWN_FIRST: Final = {3, 4}


def is_interlaced_order(field_order: int) -> bool:
    """Return whether a track's field order means interlaced frames."""
    return field_order not in _NOT_INTERLACED


class Deinterlacer:
    """Deinterlaces the frames of a track from any frame on, in presentation order."""

    def __init__(self, tick_s: Fraction, field_order: int) -> None:
        self._tick_s = tick_s
        self._field_order = field_order
        self._chain: FilterChain | None = None

    def push(self, frame: VideoFrame) -> list[VideoFrame]:
        """Return the frames that are ready; an interlaced frame is one frame late."""
        if self._chain is None and self._is_interlaced(frame):
            self._chain = FilterChain([("bwdif", self._mode(frame))], self._tick_s)
        return [frame] if self._chain is None else list(self._chain.push(frame))

    def finish(self) -> list[VideoFrame]:
        """Return the frames that were held back."""
        return [] if self._chain is None else list(self._chain.finish())

    def _is_interlaced(self, frame: VideoFrame) -> bool:
        return frame.interlaced_frame or is_interlaced_order(self._field_order)

    def _mode(self, frame: VideoFrame) -> str:
        if frame.interlaced_frame:
            return "mode=send_frame:deint=interlaced"
        # In some codecs only the container knows the field order.
        parity = "bff" if self._field_order in _BOTTOM_SHOWN_FIRST else "tff"
        return f"mode=send_frame:deint=all:parity={parity}"
