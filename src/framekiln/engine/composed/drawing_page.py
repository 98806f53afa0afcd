"""The page from which layers are drawn: a second tab, put at any time and never filmed."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import cv2
import numpy as np
import structlog

from framekiln.capture.browser import Browser
from framekiln.capture.errors import BrowserTimeout
from framekiln.capture.framebuffer import Framebuffer, FramebufferNotFound, Pixels, locate
from framekiln.capture.grabber import GrabMethod
from framekiln.capture.page import LOSSLESS, Page, open_page
from framekiln.capture.screenshot import read_png
from framekiln.composition.document import as_document
from framekiln.compositor.picture import Plane, Rgba, premultiplied
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import Footage, MotionStates, PageLayers
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_plan import FilmPlan
from framekiln.engine.page.host import PageHost
from framekiln.media.images.stills import decode_bgra
from framekiln.media.source_session import SessionFrames

# Chromium drops frames while it is busy.
_MAX_DROPPED: Final = 200
# Nothing is shown before the scripts of all frames have run.
_MAX_RECORDED: Final = 9000
# Transparency is rounded twice.
_MAX_DIFFERENCE: Final = 3
# Redrawn layers may be empty in many frames, captions for example.
_COMPARED_FRAMES: Final = 8

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class DrawingPage:
    """Made by `open_drawing_page`; owned by one thread."""

    def __init__(
        self, page: Page, plan: FilmPlan, host: PageHost, framebuffer: Framebuffer | None
    ) -> None:
        self._page = page
        self._framebuffer = framebuffer
        self._has_compared = False
        self._frame_count = plan.timeline.frame_count
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
        self, numbers: Sequence[int], frame: int, *, scale: float, corner: tuple[float, float]
    ) -> Rgba:
        """Return these layers, as if nothing had moved, as premultiplied RGBA of the window.

        `scale` is pixels for each CSS pixel; `corner` is the pixel in the window's
        corner; a fraction moves what is drawn between pixels.
        """
        self._pose(numbers, frame, scale=scale, corner=corner)
        self._redraw()
        return premultiplied(np.ascontiguousarray(self._screenshot()[..., [2, 1, 0, 3]]))

    def draw_part(
        self, numbers: Sequence[int], frame: int, *, scale: float, part: PixelRect
    ) -> Rgba:
        """Return a part of the window with these redrawn layers, as premultiplied RGBA.

        Several times cheaper than `draw`, with which one picture is compared.
        """
        if not self._has_compared:
            self._has_compared = True
            if self._framebuffer is not None and not self._is_memory_right(self._framebuffer):
                self._framebuffer = None
        if self._framebuffer is not None:
            return self._draw_twice(self._framebuffer, numbers, frame, scale=scale, part=part)
        whole = self.draw(numbers, frame, scale=scale, corner=(0, 0))
        return whole[part.top : part.bottom, part.left : part.right]

    def _is_memory_right(self, framebuffer: Framebuffer) -> bool:
        """Whether memory and screenshot agree on the redrawn layers.

        The picture depends on the page alone, so every worker reads the same pixels.
        """
        window = PixelRect(0, 0, self.size.width_px, self.size.height_px)
        numbers = [layer.number for layer in self.layers.redrawn]
        last = self._frame_count - 1
        spread = [last * at // (_COMPARED_FRAMES - 1) for at in range(_COMPARED_FRAMES)]
        for frame in dict.fromkeys([self.layers.redrawn[0].frame, *spread]):
            found = self._draw_twice(framebuffer, numbers, frame, scale=1.0, part=window)
            if not found[..., 3].any():
                continue
            expected = self.draw(numbers, frame, scale=1.0, corner=(0, 0))
            expected = np.ascontiguousarray(expected[: window.bottom, : window.right])
            if int(cv2.absdiff(found, expected).max()) <= _MAX_DIFFERENCE:
                return True
            log.warning("film.layer_pixels_differ", frame=frame)
            return False
        return False

    def _draw_twice(
        self,
        framebuffer: Framebuffer,
        numbers: Sequence[int],
        frame: int,
        *,
        scale: float,
        part: PixelRect,
    ) -> Rgba:
        """Draw on white and on black, read from Chromium's memory: transparent pixels differ."""

        def read() -> Pixels:
            self._redraw()
            return framebuffer.read_rows(part.top, part.bottom)[:, part.left : part.right]

        self._pose(numbers, frame, scale=scale, corner=(0, 0))
        is_open = self._page.evaluate("__framekiln.paintBehind('#fff')")
        on_white = read()
        if not is_open:
            return _rgba(on_white, np.full(on_white.shape[:2], 255, np.uint8))
        self._page.evaluate("__framekiln.paintBehind('#000')")
        on_black = read()
        return _rgba(on_black, 255 - cv2.subtract(on_white, on_black)[..., :3].min(axis=2))

    def _pose(
        self, numbers: Sequence[int], frame: int, *, scale: float, corner: tuple[float, float]
    ) -> None:
        place = f"{{x: {-corner[0]}, y: {-corner[1]}, scale: {scale}}}"
        pose = f"__framekiln.poseLayers({list(numbers)}, {frame}, {place})"
        problem = self._page.evaluate(pose)
        if problem:
            raise NotComposable(problem)

    def _redraw(self) -> None:
        """Draw what was posed or painted."""
        for _ in range(_MAX_DROPPED):
            self._page.redraw()
            if self._page.evaluate("__framekiln.hasPosed()"):
                return
        raise BrowserTimeout("Chromium drew nothing while drawing a layer")

    def _screenshot(self) -> Pixels:
        shown = self._page.redraw(screenshot=LOSSLESS)
        if shown.screenshot is None:
            shown = self._page.redraw(screenshot=LOSSLESS)
        assert shown.screenshot is not None
        return decode_bgra(read_png(shown.screenshot, self._page.size))


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


def _rgba(bgra: Pixels, alpha: Plane) -> Rgba:
    """Return premultiplied RGBA: no colour is more than its alpha."""
    blue, green, red = (np.minimum(bgra[..., at], alpha) for at in range(3))
    return np.dstack([red, green, blue, alpha])
