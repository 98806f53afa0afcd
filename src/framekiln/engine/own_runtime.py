"""Films of pages that bring a runtime of their own: how they open and begin.

All of it does nothing for a page that uses our elements.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from framekiln.capture.bridged_page import BridgedPage, Window, open_bridged_page
from framekiln.capture.browser import Browser
from framekiln.capture.page import Page, Size, open_page
from framekiln.composition.own_runtime import brings_own_runtime
from framekiln.engine.order import FilmOrder
from framekiln.engine.shot import Shot


def has_own_runtime(order: FilmOrder) -> bool:
    """Tell whether the order is a bundle that brings its runtime; inline HTML uses ours."""
    return order.site is not None and brings_own_runtime(
        (order.html.encode(), *order.site.scripts())
    )


@contextmanager
def open_page_for(order: FilmOrder, browser: Browser, size: Size) -> Iterator[tuple[Page, bool]]:
    """Open the page that the order needs, for a film of that size; tell if it is of this kind."""
    if not has_own_runtime(order):
        with open_page(browser, size) as page:
            yield page, False
        return
    with open_bridged_page(browser, size) as bridged:
        asked = (order.width_px, order.height_px, order.fps, order.still or order.duration_ms)
        if not all(asked):
            bridged.ask_info()
        yield bridged, True


def initialize(page: Page, order: FilmOrder, shot: Shot, *, within_s: float) -> None:
    """Tell the page what will be filmed: the whole film, of which it may show any part."""
    if not isinstance(page, BridgedPage):
        return
    fps, frame_count = shot.timeline.fps, shot.timeline.frame_count
    if order.still is None:
        window = Window(shot.size, fps, frame_count)
    else:
        window = Window(shot.size, fps, 1, from_ms=order.still.at_ms, is_still=True)
    page.initialize(window, within_s=within_s)
