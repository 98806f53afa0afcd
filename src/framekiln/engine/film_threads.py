"""Runs film work outside the event loop: a pool of threads, each with a warm Chromium."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from framekiln.capture.browser import Browser
from framekiln.capture.errors import BrowserDied, PageCrashed
from framekiln.capture.warm_browser import WarmBrowser

CheckAlive = Callable[[], None]
"""Film work calls it regularly; raises `FilmAbandoned` once the caller was cancelled."""
FilmTask = Callable[[Browser, CheckAlive], None]

# A Chromium that was killed is replaced on the spot; one that dies every time is the page's doing.
_BROWSERS_PER_WORK = 3


class FilmAbandoned(Exception):
    """Nobody waits for this film any more."""


class FilmThreadPool:
    """Does `slots` pieces of film work at a time. Threads and browsers live as long as it does."""

    def __init__(self, slots: int) -> None:
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="film")
        self._slots = slots
        self._here = threading.local()
        self._browsers: list[WarmBrowser] = []

    async def warm_up(self) -> None:
        """Start every slot's browser now, so that the first render does not wait for it."""
        loop = asyncio.get_running_loop()
        everybody = threading.Barrier(self._slots)
        starts = [
            loop.run_in_executor(self._threads, self._start, everybody) for _ in range(self._slots)
        ]
        await asyncio.gather(*starts)

    async def run(self, work: FilmTask) -> None:
        """Run the work in a film thread; it starts over if its browser is killed."""
        abandoned = threading.Event()

        def alive() -> None:
            if abandoned.is_set():
                raise FilmAbandoned

        loop = asyncio.get_running_loop()
        working = loop.run_in_executor(self._threads, self._run, work, alive)
        try:
            await asyncio.shield(working)
        except asyncio.CancelledError:
            # The thread cannot be cancelled: it is asked to stop, and waited for, because it
            # still uses what the caller will clear away.
            abandoned.set()
            with suppress(Exception):
                await working
            raise

    async def close(self) -> None:
        """End all threads and browsers."""
        await asyncio.to_thread(self._threads.shutdown)
        for browser in self._browsers:
            browser.close()

    def _run(self, work: FilmTask, alive: CheckAlive) -> None:
        for tries_left in reversed(range(_BROWSERS_PER_WORK)):
            try:
                with self._browser().use() as browser:
                    work(browser, alive)
                    return
            except (BrowserDied, PageCrashed):
                if not tries_left:
                    raise

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
