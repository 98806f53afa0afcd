"""The frames of a film as the encoder gets them, and what encoding them takes."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import av
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from framekiln.capture.browser import Browser
from framekiln.engine.film import open_renderer
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_plan import cut_slices
from framekiln.media.encode.film_encoder import VideoSettings, configure_video
from tests.bench.cpu import process_cpu_s

_LOSSLESS: Final = "gif"
"""The container whose slices keep every frame exactly."""


def exact_frames(order: FilmOrder, browser: Browser, scratch: Path) -> list[VideoFrame]:
    """Return all frames of a page."""
    paths = []
    with open_renderer(
        replace(order, container=_LOSSLESS), browser, FilmLimits(settle_s=120, frame_s=120)
    ) as renderer:
        for slice_ in cut_slices(renderer.plan.timeline):
            paths.append(scratch / f"{slice_.number}.mkv")
            renderer.render_slice(slice_, paths[-1], lambda _: None)
    return [frame for path in paths for frame in decoded(path)]


def decoded(path: Path) -> Iterator[VideoFrame]:
    """Yield the frames of a file."""
    with av.open(path) as container:
        container.streams.video[0].thread_type = "AUTO"
        yield from container.decode(video=0)


def encode(frames: Iterable[VideoFrame], settings: VideoSettings, out: Path) -> tuple[float, float]:
    """Encode frames as films are encoded; return processor and wall seconds."""
    cpu, wall = process_cpu_s(), time.monotonic()
    with av.open(out, "w") as container:
        stream = container.add_stream("libx264", rate=settings.fps)
        assert isinstance(stream, VideoStream)
        configure_video(stream.codec_context, settings)
        for number, frame in enumerate(frames):
            frame.pts, frame.time_base = number, 1 / settings.fps
            frame.pict_type = PictureType.NONE
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return process_cpu_s() - cpu, time.monotonic() - wall
