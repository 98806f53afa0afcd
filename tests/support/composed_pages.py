"""Compares composed frames of a page with those that Chromium draws."""

from collections.abc import Iterator

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.engine.composed.composer import FrameComposer, page_scene
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.proof import Likeness, compare
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.timeouts import FILM_LIMITS


def likenesses(film: FilmOrder, browser: Browser, *, every: int) -> Iterator[Likeness]:
    """Compare every n-th frame."""
    with (
        open_page_renderer(film, browser, FILM_LIMITS) as filmed,
        open_drawing_page(film, browser, filmed.plan, FILM_LIMITS) as page,
    ):
        size, count = filmed.plan.size, filmed.plan.timeline.frame_count
        composer = FrameComposer(page)
        composer.read(0, count)
        composer.draw()
        scene = page_scene(size)
        pixels = np.empty((size.height_px, size.width_px, 4), np.uint8)
        for number in range(0, count, every):
            scene.show(composer.items(number))
            filmed.capture(number, pixels)
            yield compare(scene.picture, pixels)
