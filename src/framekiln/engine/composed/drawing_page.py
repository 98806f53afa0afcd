"""The page from which layers are drawn: a second tab, put at any time and never filmed."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import cv2
import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.errors import BrowserTimeout
from framekiln.capture.framebuffer import Framebuffer, FramebufferNotFound, Pixels, locate
from framekiln.capture.grabber import GrabMethod
from framekiln.capture.page import LOSSLESS, Page, open_page
from framekiln.capture.screenshot import read_png
from framekiln.composition.document import as_document
from framekiln.compositor.picture import Rgba, premultiplied
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import Footage, MotionStates, PageLayers
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_plan import FilmPlan
from framekiln.engine.page.host import PageHost
from framekiln.kit.lazy_log import LazyLogger
from framekiln.media.images.stills import decode_bgra
from framekiln.media.source_session import SessionFrames
from framekiln.pixels.blend import recover_alpha

# Chromium drops frames while it is busy.
_MAX_DROPPED: Final = 200
# Nothing is shown before the scripts of all frames have run.
_MAX_RECORDED: Final = 9000
_OPAQUE: Final = 255
# Where an opaque layer ends between pixels, Chromium blends the edge once more than a screenshot.
_MAX_EDGE_DIFFERENCE: Final = 8

log = LazyLogger(__name__)


class DrawingPage:
    """Made by `open_drawing_page`; owned by one thread."""

    def __init__(
        self, page: Page, plan: FilmPlan, host: PageHost, framebuffer: Framebuffer | None
    ) -> None:
        self._page = page
        self._framebuffer = framebuffer
        self._host = host
        self.size = plan.size
        fps = plan.timeline.fps
        rate = json.dumps({"numerator": fps.numerator, "denominator": fps.denominator})
        rasters = json.dumps(sorted(host.rasters))
        call = f"__framekiln.analyzeLayers({rate}, {plan.timeline.frame_count}, {rasters})"
        report: dict[str, Any] = page.evaluate(call)
        if report["obstacles"]:
            raise NotComposable(*report["obstacles"])
        self.layers = PageLayers.read(report)

    def states(self, first_frame: int, count: int) -> MotionStates:
        """Return the states of all movers in these frames, without drawing any."""
        samples = self._page.evaluate(f"__framekiln.sampleLayers({first_frame}, {count})")
        if isinstance(samples, str):
            raise NotComposable(samples)
        return MotionStates(first_frame, self.layers, samples)

    def open_footage(self, footage: Footage, size: tuple[int, int]) -> SessionFrames:
        """Open the frames of a video, as planes of an even size."""
        return self._host.open_planes(footage.address, size)

    def draw(
        self,
        numbers: Sequence[int],
        frame: int,
        *,
        scale: float,
        corner: tuple[float, float],
        part: PixelRect,
    ) -> Rgba:
        """Return a part of the window with these layers, as if nothing had moved.

        The result is premultiplied RGBA. `scale` is pixels for each CSS pixel; `corner` is the
        pixel in the window's corner; a fraction moves what is drawn between pixels.
        """
        pose, compared = _Pose(tuple(numbers), frame, scale, corner), self._compared
        if pose == compared.pose:
            return _cut(compared.pixels, part)
        self._show(pose)
        if not compared.is_in_memory:
            return _cut(self._screenshot(), part)
        # A pose with the page's own background cannot be drawn on another one.
        if not self._paint_behind("#fff"):
            if not compared.is_opaque:
                return _cut(self._screenshot(), part)
            pixels = self._drawn(part)
            return recover_alpha(pixels, pixels)
        on_white = self._drawn(part)
        self._paint_behind("#000")
        return recover_alpha(on_white, self._drawn(part))

    @cached_property
    def _compared(self) -> "_ComparedLayer":
        """The page's own layer as a screenshot, with which Chromium's memory is compared.

        Whether both agree depends on the page alone, so every worker draws in the same way.
        """
        first = self.layers.layers[0]
        pose = _Pose((first.number,), first.frame, 1.0, (0.0, 0.0))
        self._show(pose)
        screenshot = self._screenshot()
        if self._framebuffer is None:
            return _ComparedLayer(pose, screenshot, is_in_memory=False)
        found = self._framebuffer.read_rows(0, self._page.size.height_px)
        is_in_memory = _is_same(recover_alpha(found, found), screenshot)
        if not is_in_memory:
            log.warning("film.layer_pixels_differ", frame=first.frame)
        return _ComparedLayer(pose, screenshot, is_in_memory)

    def _show(self, pose: "_Pose") -> None:
        left, top = pose.corner
        place = f"{{x: {-left}, y: {-top}, scale: {pose.scale}}}"
        call = f"__framekiln.poseLayers({list(pose.numbers)}, {pose.frame}, {place})"
        problem = self._page.evaluate(call)
        if problem:
            raise NotComposable(problem)

    def _paint_behind(self, colour: str) -> bool:
        is_open: bool = self._page.evaluate(f"__framekiln.paintBehind('{colour}')")
        return is_open

    def _drawn(self, part: PixelRect) -> Pixels:
        assert self._framebuffer is not None, "it was compared with a screenshot"
        self._redraw()
        rows = self._framebuffer.read_rows(part.top, part.bottom)
        return rows[:, part.left : part.right]

    def _redraw(self) -> None:
        """Draw what was posed or painted."""
        for _ in range(_MAX_DROPPED):
            self._page.redraw()
            if self._page.evaluate("__framekiln.hasPosed()"):
                return
        raise BrowserTimeout("Chromium drew nothing while drawing a layer")

    def _screenshot(self) -> Rgba:
        """Return what was posed, as premultiplied RGBA."""
        self._redraw()
        shown = self._page.redraw(screenshot=LOSSLESS)
        if shown.screenshot is None:
            shown = self._page.redraw(screenshot=LOSSLESS)
        assert shown.screenshot is not None
        pixels = decode_bgra(read_png(shown.screenshot, self._page.size))
        return premultiplied(np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGRA2RGBA), np.uint8))


@dataclass(frozen=True)
class _Pose:
    """What is drawn, and where."""

    numbers: tuple[int, ...]
    frame: int
    scale: float
    corner: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _ComparedLayer:
    pose: _Pose
    pixels: Rgba
    """From a screenshot."""
    is_in_memory: bool
    """Whether Chromium's memory has the same, on white."""

    @cached_property
    def is_opaque(self) -> bool:
        """Whether the page's own background covers the window."""
        return int(self.pixels[..., 3].min()) == _OPAQUE


@contextmanager
def open_drawing_page(
    order: FilmOrder, browser: Browser, plan: FilmPlan, limits: FilmLimits
) -> Iterator[DrawingPage]:
    """Load the page once more, to draw its layers; raise `NotComposable` if it has to be filmed."""
    with (
        open_page(browser, plan.size) as page,
        PageHost(order.assets, browser, order.site, within_s=limits.whole_s) as host,
    ):
        page.data = order.data
        page.make_transparent()
        framebuffer = _framebuffer(page, order)
        facts = page.load(
            host.network(as_document(order.html)),
            settle_within_s=limits.settle_s,
            has_files=order.site is not None,
        )
        if not facts.plan["isDeclarative"]:
            _record_scripts(page, plan, limits)
        yield DrawingPage(page, plan, host, framebuffer)


def _record_scripts(page: Page, plan: FilmPlan, limits: FilmLimits) -> None:
    """Run the scripts through all frames once: then any frame can be drawn without them."""
    timeline = plan.timeline
    if timeline.frame_count > _MAX_RECORDED:
        raise NotComposable(f"scripts run in more than {_MAX_RECORDED} frames")
    page.begin_recording(timeline.fps, frame_within_s=limits.frame_s)
    for number in range(timeline.frame_count):
        page.record(number, timeline.frame_us(number))


def _framebuffer(page: Page, order: FilmOrder) -> Framebuffer | None:
    """Return where Chromium keeps the pixels of an empty page; None to use screenshots."""
    if order.grabbing is not GrabMethod.RAW:
        return None
    try:
        return locate(page)
    except FramebufferNotFound:
        return None


def _is_same(found: Rgba, screenshot: Rgba) -> bool:
    """Whether both are the same on white: memory may have what is behind."""
    if np.array_equal(found, screenshot):
        return True
    apart = cv2.absdiff(_on_white(found), _on_white(screenshot)).max(axis=2)
    is_edge = (screenshot[..., 3] > 0) & (screenshot[..., 3] < _OPAQUE)
    return bool((apart <= np.where(is_edge, _MAX_EDGE_DIFFERENCE, 0)).all())


def _on_white(pixels: Rgba) -> Pixels:
    return pixels[..., :3] + (_OPAQUE - pixels[..., 3:])


def _cut(pixels: Pixels, part: PixelRect) -> Pixels:
    return pixels[part.top : part.bottom, part.left : part.right]
