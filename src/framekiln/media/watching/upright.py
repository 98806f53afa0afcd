"""Turns decoded pictures the way up they are meant to be shown, and makes whole ones of fields.

Uses FFmpeg's filters, so that no pixel passes through Python. Pictures keep their times.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import av
from av.filter import Graph
from av.video.frame import VideoFrame

from framekiln.media.watching.pictures import Orientation

_DEINTERLACE: Final = ("bwdif", "mode=send_frame:deint=interlaced")
# A reflection along the diagonal, which is what transposing means.
_TRANSPOSE: Final = ("transpose", "dir=cclock_flip")


class Upright:
    """Pictures in, the same ones upright and progressive out; some come only with `finish`."""

    def __init__(
        self, orientation: Orientation, tick_s: Fraction, *, is_interlaced: bool = False
    ) -> None:
        self._steps = _steps(orientation, is_interlaced=is_interlaced)
        self._tick_s = tick_s
        self._graph: Graph | None = None
        self._form: tuple[int, int, str] | None = None

    def pass_on(self, frame: VideoFrame) -> Iterator[VideoFrame]:
        """Yield what is ready after one more picture."""
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
        """Yield what was held back."""
        if self._graph is None:
            return
        self._graph.push(None)
        yield from self._ready(self._graph)
        self._graph = self._form = None

    def _ready(self, graph: Graph) -> Iterator[VideoFrame]:
        while True:
            try:
                frame = graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return
            assert isinstance(frame, VideoFrame)
            # Some filters count in finer ticks.
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


def _steps(orientation: Orientation, *, is_interlaced: bool) -> list[tuple[str, str]]:
    wanted = (
        (is_interlaced, _DEINTERLACE),
        (orientation.is_transposed, _TRANSPOSE),
        (orientation.is_mirrored, ("hflip", "")),
        (orientation.is_flipped, ("vflip", "")),
    )
    return [step for is_wanted, step in wanted if is_wanted]
