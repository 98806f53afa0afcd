"""Compares composed frames of a page with those that Chromium draws."""

from collections.abc import Iterator

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.compositor.picture import Picture
from framekiln.engine.composed.composer import FrameComposer, page_scene
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.proof import Likeness, compare
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.timeouts import FILM_LIMITS


def likenesses(film: FilmOrder, browser: Browser, *, every: int) -> Iterator[Likeness]:
    """Compare every n-th frame."""
    for composed, filmed in frames_both_ways(film, browser, every=every):
        yield compare(composed, filmed)


def frames_both_ways(
    film: FilmOrder, browser: Browser, *, every: int
) -> Iterator[tuple[Picture, Pixels]]:
    """Yield every n-th frame as it is composed, and as Chromium draws it."""
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
            yield scene.picture, pixels
