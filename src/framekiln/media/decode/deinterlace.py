"""Deinterlaces frames.

Each input frame gives one output frame, at the same time. Frames that are not marked as interlaced
stay unchanged, unless their whole track is marked.
"""

from fractions import Fraction
from typing import Final

from av.video.frame import VideoFrame

from framekiln.media.decode.filter_chain import FilterChain

# AVFieldOrder: not told, or whole pictures.
_NOT_INTERLACED: Final = {0, 1}
_BOTTOM_SHOWN_FIRST: Final = {3, 4}


def is_interlaced_order(field_order: int) -> bool:
    """Tell whether a track's field order says that its pictures consist of fields."""
    return field_order not in _NOT_INTERLACED


class Deinterlacer:
    """For the frames of a track from one of them on, in presentation order."""

    def __init__(self, tick_s: Fraction, field_order: int) -> None:
        self._tick_s = tick_s
        self._field_order = field_order
        self._chain: FilterChain | None = None

    def push(self, frame: VideoFrame) -> list[VideoFrame]:
        """Return what is ready after one more picture: of fields, the one before."""
        if self._chain is None and self._is_interlaced(frame):
            self._chain = FilterChain([("bwdif", self._mode(frame))], self._tick_s)
        return [frame] if self._chain is None else list(self._chain.push(frame))

    def finish(self) -> list[VideoFrame]:
        """Return what was held back."""
        return [] if self._chain is None else list(self._chain.finish())

    def _is_interlaced(self, frame: VideoFrame) -> bool:
        return frame.interlaced_frame or is_interlaced_order(self._field_order)

    def _mode(self, frame: VideoFrame) -> str:
        if frame.interlaced_frame:
            return "mode=send_frame:deint=interlaced"
        # In some codings only the container knows.
        parity = "bff" if self._field_order in _BOTTOM_SHOWN_FIRST else "tff"
        return f"mode=send_frame:deint=all:parity={parity}"
