"""Encodes losslessly stored slices as a GIF with one palette for all frames.

The palette is built from the changes over the whole film, so colours do not flicker between slices.
It makes two passes over the slices; memory does not grow with the film. GIF times are in hundredths
of a second, and viewers slow down frames shorter than two of them: such frames are dropped.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.codec.context import Flags
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from framekiln.kit.cancellation import check_cancelled
from framekiln.media.decode.frame_converter import rgba_of
from framekiln.pixels.colours import BT709_LIMITED

_OURS: Final = {"format_whitelist": "matroska,webm", "protocol_whitelist": "file"}
_TICKS_PER_S: Final = 100
_MIN_FRAME_TICKS: Final = 2


def write_gif(slices: Sequence[Path], out: Path, *, fps: Fraction) -> None:
    """Write the film of these slices without audio, repeating forever."""
    palette = _palette(_frames(slices, fps))
    with av.open(str(out), "w", format="gif", options={"loop": "0"}) as container:
        stream: VideoStream | None = None
        for picture in _by_palette(_frames(slices, fps), palette):
            if stream is None:
                found = container.add_stream("gif", rate=_TICKS_PER_S)
                assert isinstance(found, VideoStream)
                stream = _configured(found, picture)
            for packet in stream.encode(picture):
                packet.duration = picture.duration
                container.mux(packet)
        assert stream is not None, "a film has at least one frame"
        container.mux(stream.encode(None))


def _configured(stream: VideoStream, picture: VideoFrame) -> VideoStream:
    context = stream.codec_context
    context.width, context.height = picture.width, picture.height
    context.pix_fmt = picture.format.name
    context.time_base = Fraction(1, _TICKS_PER_S)
    context.flags |= int(Flags.bitexact)
    return stream


def _frames(slices: Sequence[Path], fps: Fraction) -> Iterator[VideoFrame]:
    """Yield the frames that a GIF can show, timed in hundredths of a second."""
    number, shown = 0, -_MIN_FRAME_TICKS
    for path in slices:
        with av.open(f"file:{path}", "r", options=dict(_OURS)) as container:
            for frame in container.decode(video=0):
                check_cancelled()
                at = round(number * _TICKS_PER_S / fps)
                number += 1
                if at - shown < _MIN_FRAME_TICKS:
                    continue
                shown = at
                rgba = VideoFrame.from_numpy_buffer(rgba_of(frame, BT709_LIMITED), format="rgba")
                rgba.pts, rgba.time_base = at, Fraction(1, _TICKS_PER_S)
                # Only that of the last frame counts: others end when the next one starts.
                ends_at = round(number * _TICKS_PER_S / fps)
                rgba.duration = max(_MIN_FRAME_TICKS, ends_at - at)
                yield rgba


def _palette(frames: Iterator[VideoFrame]) -> VideoFrame:
    graph: Graph | None = None
    for frame in frames:
        if graph is None:
            graph = Graph()
            source = _input(graph, frame)
            # All 256 entries but one, which is for transparent or unchanged pixels.
            maker = graph.add("palettegen", "max_colors=256:reserve_transparent=1:stats_mode=full")
            sink = graph.add("buffersink")
            source.link_to(maker)
            maker.link_to(sink)
            graph.configure()
        source.push(frame)
    assert graph is not None, "a film has at least one frame"
    source.push(None)
    palette = sink.pull()
    assert isinstance(palette, VideoFrame)
    return palette


def _by_palette(frames: Iterator[VideoFrame], palette: VideoFrame) -> Iterator[VideoFrame]:
    graph: Graph | None = None
    for frame in frames:
        if graph is None:
            graph = Graph()
            source, colours = _input(graph, frame), _input(graph, palette)
            user = graph.add(
                "paletteuse", "dither=sierra2_4a:diff_mode=rectangle:alpha_threshold=128"
            )
            sink = graph.add("buffersink")
            source.link_to(user)
            colours.link_to(user, 0, 1)
            user.link_to(sink)
            graph.configure()
            colours.push(palette)
            colours.push(None)
        source.push(frame)
        yield from _frames_of_sink(sink)
    assert graph is not None, "a film has at least one frame"
    source.push(None)
    yield from _frames_of_sink(sink)


def _input(graph: Graph, frame: VideoFrame) -> "av.filter.FilterContext":
    return graph.add_buffer(
        width=frame.width,
        height=frame.height,
        format=frame.format,
        time_base=Fraction(1, _TICKS_PER_S),
    )


def _frames_of_sink(sink: "av.filter.FilterContext") -> Iterator[VideoFrame]:
    while True:
        try:
            frame = sink.pull()
        except (BlockingIOError, EOFError):
            return
        assert isinstance(frame, VideoFrame)
        yield frame
