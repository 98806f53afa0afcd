"""Pages with an external runtime: detection, opening and initialization.

Nothing here applies to pages that use our elements.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from framekiln.capture.bridged_page import BridgedPage, BridgeWindow, open_bridged_page
from framekiln.capture.browser import Browser
from framekiln.capture.page import FrameSize, Page, open_page
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmPlan


def has_external_runtime(order: FilmOrder) -> bool:
    """Return whether the order is a bundle with its own runtime; inline HTML uses ours."""
    return order.site is not None and contains_runtime((order.html.encode(), *order.site.scripts()))


@contextmanager
def open_page_for(
    order: FilmOrder, browser: Browser, size: FrameSize
) -> Iterator[tuple[Page, bool]]:
    """Open the order's page in a window of that size; also return if it has its own runtime."""
    if not has_external_runtime(order):
        with open_page(browser, size) as page:
            yield page, False
        return
    with open_bridged_page(browser, size) as bridged:
        asked = (order.width_px, order.height_px, order.fps, order.still or order.duration_ms)
        if not all(asked):
            bridged.ask_info()
        yield bridged, True


def initialize_bridge(page: Page, order: FilmOrder, plan: FilmPlan, *, within_s: float) -> None:
    """Tell the page the size, frame rate and length of the whole film."""
    if not isinstance(page, BridgedPage):
        return
    fps, frame_count = plan.timeline.fps, plan.timeline.frame_count
    if order.still is None:
        window = BridgeWindow(plan.size, fps, frame_count)
    else:
        window = BridgeWindow(plan.size, fps, 1, from_ms=order.still.at_ms, is_still=True)
    page.initialize(window, within_s=within_s)


# Such a runtime is driven by an object it looks for, or by one it offers; minifiers keep both.
# A page that only waits for elements (EF_REGISTERED) proves nothing: they may be ours.
_WORDS: Final = (b"FRAMEGEN_BRIDGE", b"EF_FRAMEGEN")


def contains_runtime(texts: Iterable[bytes]) -> bool:
    """Return whether any of a bundle's pages and scripts contains an external runtime."""
    return any(word in text for text in texts for word in _WORDS)
