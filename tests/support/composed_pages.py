"""Compares composed frames of a page with those that Chromium draws."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.compositor.picture import Picture
from framekiln.engine.composed.composer import FrameComposer, page_scene
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.proof import Likeness, compare
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.pixels.conversion import Planes, bgra_to_yuv420
from tests.support.timeouts import FILM_LIMITS

_SPOT_PX: Final = 4


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


def worst_spot(film: FilmOrder, browser: Browser, *, every: int) -> float:
    """Return the largest mean difference of luma in any 4x4 pixels of every n-th frame."""
    return max(
        _spot(composed.y, filmed)
        for composed, filmed in frames_both_ways(film, browser, every=every)
    )


def _spot(composed: NDArray[np.uint8], filmed: Pixels) -> float:
    height, width = filmed.shape[:2]
    theirs = Planes.empty(width, height)
    bgra_to_yuv420(filmed, theirs)
    apart = np.abs(composed.astype(np.int16) - theirs.luma)
    spots = apart.reshape(height // _SPOT_PX, _SPOT_PX, width // _SPOT_PX, _SPOT_PX)
    return float(spots.mean(axis=(1, 3)).max())
