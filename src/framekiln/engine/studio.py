"""Runs films beside the event loop: one thread and one warm Chromium for each film at a time."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from framekiln.capture.errors import BrowserDied, PageCrashed
from framekiln.capture.warm_browser import WarmBrowser
from framekiln.engine.film import Film, FilmLimits, FilmOrder, Report, make_film

# A Chromium that was killed is replaced on the spot; one that dies every time is the page's doing.
_BROWSERS_PER_FILM = 3


class FilmAbandoned(Exception):
    """Nobody waits for this film any more."""


class Studio:
    """Makes `slots` films at a time. Threads live as long as the studio, and so do browsers."""

    def __init__(self, slots: int, limits: FilmLimits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="film")
        self._slots = slots
        self._here = threading.local()
        self._browsers: list[WarmBrowser] = []

    async def warm_up(self) -> None:
        """Start every slot's browser now, so that the first render does not wait for it."""
        loop = asyncio.get_running_loop()
        everybody = threading.Barrier(self._slots)
        await asyncio.gather(
            *(
                loop.run_in_executor(self._threads, self._start, everybody)
                for _ in range(self._slots)
            )
        )

    async def make(self, order: FilmOrder, path: Path, report: Report) -> Film:
        """Make a film into `path`; `report` is called from the film's thread."""
        abandoned = threading.Event()

        def watched(done: int, count: int) -> None:
            if abandoned.is_set():
                raise FilmAbandoned
            report(done, count)

        loop = asyncio.get_running_loop()
        working = loop.run_in_executor(self._threads, self._make, order, path, watched)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            # The thread cannot be cancelled: it is asked to stop, and waited for, because it
            # still writes to the path.
            abandoned.set()
            with suppress(Exception):
                await working
            raise

    async def close(self) -> None:
        """End all threads and browsers."""
        await asyncio.to_thread(self._threads.shutdown)
        for browser in self._browsers:
            browser.close()

    def _make(self, order: FilmOrder, path: Path, report: Report) -> Film:
        for tries_left in reversed(range(_BROWSERS_PER_FILM)):
            try:
                with self._browser().use() as browser:
                    return make_film(order, browser, path, limits=self._limits, report=report)
            except (BrowserDied, PageCrashed):
                if not tries_left:
                    raise
        raise AssertionError("unreachable")

    def _start(self, everybody: threading.Barrier) -> None:
        everybody.wait()
        with self._browser().use():
            pass

    def _browser(self) -> WarmBrowser:
        if not hasattr(self._here, "browser"):
            self._here.browser = WarmBrowser()
            self._browsers.append(self._here.browser)
        browser: WarmBrowser = self._here.browser
        return browser
