"""Pages with an external runtime: detection, opening and initialization.

All of it does nothing for a page that uses our elements.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from framekiln.capture.bridged_page import BridgedPage, BridgeWindow, open_bridged_page
from framekiln.capture.browser import Browser
from framekiln.capture.page import FrameSize, Page, open_page
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_settings import FilmSettings


def has_external_runtime(order: FilmOrder) -> bool:
    """Tell whether the order is a bundle that brings its runtime; inline HTML uses ours."""
    return order.site is not None and contains_runtime((order.html.encode(), *order.site.scripts()))


@contextmanager
def open_page_for(
    order: FilmOrder, browser: Browser, size: FrameSize
) -> Iterator[tuple[Page, bool]]:
    """Open the page that the order needs, for a film of that size; tell if it is of this kind."""
    if not has_external_runtime(order):
        with open_page(browser, size) as page:
            yield page, False
        return
    with open_bridged_page(browser, size) as bridged:
        asked = (order.width_px, order.height_px, order.fps, order.still or order.duration_ms)
        if not all(asked):
            bridged.ask_info()
        yield bridged, True


def initialize_bridge(page: Page, order: FilmOrder, shot: FilmSettings, *, within_s: float) -> None:
    """Tell the page what will be filmed: the whole film, of which it may show any part."""
    if not isinstance(page, BridgedPage):
        return
    fps, frame_count = shot.timeline.fps, shot.timeline.frame_count
    if order.still is None:
        window = BridgeWindow(shot.size, fps, frame_count)
    else:
        window = BridgeWindow(shot.size, fps, 1, from_ms=order.still.at_ms, is_still=True)
    page.initialize(window, within_s=within_s)


# How such a runtime is driven: by the object it looks for, or by the one it offers. Minifiers leave
# both alone. That a page only waits for elements (EF_REGISTERED) says nothing: it may be for ours.
_WORDS: Final = (b"FRAMEGEN_BRIDGE", b"EF_FRAMEGEN")


def contains_runtime(texts: Iterable[bytes]) -> bool:
    """Tell whether any of a bundle's pages and scripts can be driven by itself."""
    return any(word in text for text in texts for word in _WORDS)
