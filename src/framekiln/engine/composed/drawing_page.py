"""The page from which layers are drawn: a second tab, put at any time and never filmed."""

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.errors import BrowserTimeout
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.page import LOSSLESS, Page, open_page
from framekiln.composition.document import as_document
from framekiln.compositor.picture import Rgba, premultiplied
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.page_layers import Footage, MotionStates, PageLayers
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.film_plan import FilmPlan
from framekiln.engine.page.host import PageHost
from framekiln.media.images.stills import decode_bgra
from framekiln.media.source_session import SessionFrames

# Chromium drops frames while it is busy.
_MAX_DROPPED: Final = 200


class DrawingPage:
    """Made by `open_drawing_page`; owned by one thread."""

    def __init__(self, page: Page, plan: FilmPlan, host: PageHost) -> None:
        self._page = page
        self._host = host
        self.size = plan.size
        fps = plan.timeline.fps
        rate = json.dumps({"numerator": fps.numerator, "denominator": fps.denominator})
        call = f"__framekiln.analyzeLayers({rate}, {plan.timeline.frame_count})"
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
        self, numbers: Sequence[int], frame: int, *, scale: float, corner: tuple[int, int]
    ) -> Rgba:
        """Return these layers, as if nothing had moved, as premultiplied RGBA of the window.

        `scale` is pixels for each CSS pixel; `corner` is the pixel in the window's corner.
        """
        place = f"{{x: {-corner[0]}, y: {-corner[1]}, scale: {scale}}}"
        pose = f"__framekiln.poseLayers({list(numbers)}, {frame}, {place})"
        problem = self._page.evaluate(pose)
        if problem:
            raise NotComposable(problem)
        for _ in range(_MAX_DROPPED):
            self._page.redraw()
            if self._page.evaluate("__framekiln.hasPosed()"):
                return premultiplied(np.ascontiguousarray(self._screenshot()[..., [2, 1, 0, 3]]))
        raise BrowserTimeout("Chromium drew nothing while drawing a layer")

    def _screenshot(self) -> Pixels:
        shown = self._page.redraw(screenshot=LOSSLESS)
        if shown.screenshot is None:
            shown = self._page.redraw(screenshot=LOSSLESS)
        assert shown.screenshot is not None
        return decode_bgra(base64.b64decode(shown.screenshot))


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
        page.load(
            host.network(as_document(order.html)),
            settle_within_s=limits.settle_s,
            has_files=order.site is not None,
        )
        yield DrawingPage(page, plan, host)
