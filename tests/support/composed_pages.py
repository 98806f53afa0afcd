"""Compares composed frames of a page with those that Chromium draws."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.page import FrameSize
from framekiln.compositor.picture import Picture
from framekiln.engine.assets import Assets
from framekiln.engine.composed.composer import FrameComposer, page_scene
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.proof import Likeness, compare
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmPlan
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.pixels.conversion import Planes, bgra_to_yuv420
from tests.support.golden import GoldenComposition
from tests.support.timeouts import FILM_LIMITS

_SPOT_PX: Final = 4
_COLUMNS: Final = 4


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


def side_by_side(contents: Iterable[str], cell: FrameSize) -> tuple[str, FrameSize]:
    """Return HTML that shows contents in cells of this size, and the size of all: `cut` cuts it.

    Opening a page takes longer than comparing many cells of it.
    """
    html, number = "", -1
    for number, content in enumerate(contents):
        row, column = divmod(number, _COLUMNS)
        place = f"left: {column * cell.width_px}px; top: {row * cell.height_px}px"
        size = f"width: {cell.width_px}px; height: {cell.height_px}px"
        html += f'<section id="s{number}" style="position: absolute; {place}; {size}">{content}'
        html += "</section>"
    rows = number // _COLUMNS + 1
    return html, FrameSize(_COLUMNS * cell.width_px, rows * cell.height_px)


def cut(composed: Picture, filmed: Pixels, cell: FrameSize) -> Iterator[tuple[Picture, Pixels]]:
    """Yield the cells of a frame, in the order of their contents."""
    width, height = cell.width_px, cell.height_px
    for top in range(0, filmed.shape[0], height):
        for left in range(0, filmed.shape[1], width):
            whole = np.s_[top : top + height, left : left + width]
            half = np.s_[top // 2 : (top + height) // 2, left // 2 : (left + width) // 2]
            planes = (composed.y[whole], composed.u[half], composed.v[half])
            yield Picture(*map(np.ascontiguousarray, planes)), np.ascontiguousarray(filmed[whole])


def worst_spot(composed: Picture, filmed: Pixels) -> float:
    """Return the largest mean difference of luma in any 4x4 pixels of a frame."""
    height, width = filmed.shape[:2]
    theirs = Planes.empty(width, height)
    bgra_to_yuv420(filmed, theirs)
    apart = np.abs(composed.y.astype(np.int16) - theirs.luma)
    spots = apart.reshape(height // _SPOT_PX, _SPOT_PX, width // _SPOT_PX, _SPOT_PX)
    return float(spots.mean(axis=(1, 3)).max())


def plan_of(film: FilmOrder, browser: Browser) -> FilmPlan:
    """Return the plan of a page: that of each page which says as much about itself."""
    with open_page_renderer(film, browser, FILM_LIMITS) as filmed:
        return filmed.plan


def golden_film(golden: GoldenComposition, assets: Assets) -> tuple[FilmOrder, int]:
    """Return a film of a golden page, and the distance of a dozen frames of it to compare."""
    every = golden.frames_in(ms=golden.expected.duration_ms // 12)
    return FilmOrder(golden.html, assets=assets), every
