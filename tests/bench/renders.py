"""How fast a page becomes a film, beside encoding the very same frames without any page."""

import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.grabber import prepare_grabber
from framekiln.capture.network import PageNetwork, Resource, no_resources
from framekiln.capture.page import FrameSize, open_page
from framekiln.engine.film import FilmResult, make_film
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.media.encode.film_encoder import VideoSettings, configure_video
from framekiln.media.images.stills import decode_bgra
from framekiln.timeline import Timeline
from tests.bench.cpu import process_cpu_s, process_tree_cpu_s

PAGES = Path(__file__).parent / "pages"
FPS = Fraction(30)


@dataclass(frozen=True)
class RenderRow:
    """One measured case; processor times are milliseconds a frame."""

    name: str
    frames: int
    wall_fps: float
    chromium_ms: float
    driver_ms: float
    encoder_ms: float
    encode_only_ms: float
    encode_only_fps: float
    grabbing: str
    composed_frames: int

    @property
    def whole_ms(self) -> float:
        return self.chromium_ms + self.driver_ms + self.encoder_ms

    @property
    def ratio(self) -> float:
        """Our whole processor time over that of encoding alone."""
        return self.whole_ms / self.encode_only_ms


def measure(name: str, size: FrameSize, method: PageMethod, *, frames: int) -> RenderRow:
    """Render one page and encode its frames alone, in one run on one machine."""
    html = (PAGES / f"{name}.html").read_text()
    timeline = Timeline(fps=FPS, frame_count=frames)
    with open_browser() as browser:
        _render(browser, html, size, method, Timeline(fps=FPS, frame_count=10))
        chromium, own, thread = process_tree_cpu_s(browser.pid), process_cpu_s(), time.thread_time()
        began = time.perf_counter()
        film = _render(browser, html, size, method, timeline)
        wall_s = time.perf_counter() - began
        chromium_s, own_spent_s = process_tree_cpu_s(browser.pid) - chromium, process_cpu_s() - own
        driver_s = time.thread_time() - thread
        pictures = _pictures(browser, html, size, timeline)
    encode_cpu_s, encode_wall_s = _encode_only(pictures, size)
    per_frame_ms = 1000 / frames
    return RenderRow(
        name=f"{name} {size.height_px}p",
        frames=frames,
        wall_fps=frames / wall_s,
        chromium_ms=chromium_s * per_frame_ms,
        driver_ms=driver_s * per_frame_ms,
        encoder_ms=(own_spent_s - driver_s) * per_frame_ms,
        encode_only_ms=encode_cpu_s * per_frame_ms,
        encode_only_fps=frames / encode_wall_s,
        grabbing=film.record.grabbing,
        composed_frames=film.record.composed_frames,
    )


def _render(
    browser: Browser, html: str, size: FrameSize, method: PageMethod, timeline: Timeline
) -> FilmResult:
    order = FilmOrder(
        html=html,
        width_px=size.width_px,
        height_px=size.height_px,
        fps=timeline.fps,
        duration_ms=timeline.duration_ms,
        page_method=method,
    )
    with tempfile.TemporaryDirectory() as folder:
        return make_film(order, browser, Path(folder) / "out.mp4")


def _pictures(browser: Browser, html: str, size: FrameSize, timeline: Timeline) -> list[VideoFrame]:
    """Return the frames of the page as the encoder gets them, the same object where repeated."""
    reformatter = VideoReformatter()
    pixels = np.empty((size.height_px, size.width_px, 4), np.uint8)
    pictures: list[VideoFrame] = []
    with open_page(browser, size) as page:
        grabber, _ = prepare_grabber(page, decode_bgra, raw=True)
        document = Resource(html.encode(), "text/html; charset=utf-8")
        page.load(PageNetwork(document, no_resources), settle_within_s=30)
        page.begin(timeline.fps, frame_within_s=30)
        for number in range(timeline.frame_count):
            if grabber.grab(number, timeline.frame_us(number), pixels):
                frame = VideoFrame.from_ndarray(pixels, format="bgra")
                picture = reformatter.reformat(
                    frame, format="yuv420p", dst_colorspace=1, dst_color_range=1
                )
            pictures.append(picture)
    return pictures


def _encode_only(pictures: list[VideoFrame], size: FrameSize) -> tuple[float, float]:
    """Encode pictures from memory with the renderer's settings; return CPU and wall seconds."""
    settings = VideoSettings(size.width_px, size.height_px, FPS)
    cpu, wall = process_cpu_s(), time.perf_counter()
    with tempfile.NamedTemporaryFile(suffix=".mp4") as file, av.open(file.name, "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        configure_video(stream.codec_context, settings)
        for number, picture in enumerate(pictures):
            picture.pts, picture.time_base = number, 1 / FPS
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return process_cpu_s() - cpu, time.perf_counter() - wall
