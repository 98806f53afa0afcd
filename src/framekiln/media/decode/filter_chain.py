"""Runs frames through FFmpeg filters, so that no pixel passes through Python.

Every frame keeps its timestamp; some come out only after later ones went in.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

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
            frame.pts = round((frame.pts or 0) * Fraction(frame.time_base or 1) / self._tick_s)
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
