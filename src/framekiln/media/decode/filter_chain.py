"""Runs frames through FFmpeg filters, so that no pixel passes through Python.

Every frame keeps its timestamp and duration; some come out only after later ones went in.

Deinterlacing: each input frame gives one output frame, at the same time. Frames that are not marked
as interlaced stay unchanged, unless their whole track is marked.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

import av
from av.filter import Graph
from av.video.frame import VideoFrame

Step = tuple[str, str]
"""A filter and its options."""


class FilterChain:
    """Returns as many frames as it is given; the last ones come only with `finish`."""

    def __init__(self, steps: Sequence[Step], tick_s: Fraction) -> None:
        self._steps = steps
        self._tick_s = tick_s
        self._graph: Graph | None = None
        self._form: tuple[int, int, str] | None = None

    def push(self, frame: VideoFrame) -> Iterator[VideoFrame]:
        """Yield the frames that are ready after one more frame."""
        if not self._steps:
            yield frame
            return
        form = (frame.width, frame.height, frame.format.name)
        if form != self._form:
            yield from self.finish()
            self._graph, self._form = self._build(frame), form
        assert self._graph is not None
        self._graph.push(frame)
        yield from self._ready(self._graph)

    def finish(self) -> Iterator[VideoFrame]:
        """Yield the frames that were held back."""
        if self._graph is None:
            return
        graph, self._graph, self._form = self._graph, None, None
        graph.push(None)
        yield from self._ready(graph)

    def _ready(self, graph: Graph) -> Iterator[VideoFrame]:
        while True:
            try:
                frame = graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return
            assert isinstance(frame, VideoFrame)
            # Some filters use finer ticks.
            ticks = Fraction(frame.time_base or 1) / self._tick_s
            frame.pts = round((frame.pts or 0) * ticks)
            frame.duration = round(frame.duration * ticks)
            frame.time_base = self._tick_s
            yield frame

    def _build(self, frame: VideoFrame) -> Graph:
        graph = Graph()
        first = graph.add_buffer(
            width=frame.width, height=frame.height, format=frame.format, time_base=self._tick_s
        )
        nodes = [first, *(graph.add(name, args) for name, args in self._steps)]
        graph.link_nodes(*nodes, graph.add("buffersink")).configure()
        return graph


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

    @property
    def has_begun(self) -> bool:
        """Whether a frame was interlaced, or the track says so; false before the first frame."""
        return self._chain is not None

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
