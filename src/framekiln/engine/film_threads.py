"""A pool of threads that render films outside the event loop, each with a warm Chromium."""

import asyncio
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from framekiln.capture.browser import Browser, WarmBrowser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.errors import BrowserDied, PageBlocked, PageCrashed
from framekiln.kit.cancellation import check_cancelled, run_in_executor
from framekiln.kit.confined.budget import children_of
from framekiln.kit.errors import CompositionFailed

CheckAlive = Callable[[], None]
"""Called by film tasks regularly; raises `WorkCancelled` once the caller was cancelled."""

T = TypeVar("T")

# A Chromium that was killed is replaced at once; if it dies every time, the page is the cause.
_BROWSERS_PER_TASK = 3


class FilmThreadPool:
    """Runs up to `slots` film tasks at a time; threads and browsers live as long as the pool."""

    def __init__(self, slots: int, limits: BrowserLimits | None = None) -> None:
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="film")
        self._limits = limits
        self._here = threading.local()
        self._browsers: list[WarmBrowser] = []

    async def warm_up(self, count: int) -> None:
        """Start this many browsers now, so that the first render does not wait for one."""
        loop = asyncio.get_running_loop()
        everybody = threading.Barrier(count)
        starts = [loop.run_in_executor(self._threads, self._start, everybody) for _ in range(count)]
        await asyncio.gather(*starts)

    async def run(self, task: Callable[[Browser, CheckAlive], T], *, owner: Hashable) -> T:
        """Run a task in a film thread; it starts over if its browser is killed.

        Pages of different owners are never shown by the same browser.
        """
        work = partial(self._run, task, check_cancelled, owner)
        with children_of(str(owner)):
            return await run_in_executor(self._threads, work)

    async def close(self) -> None:
        """End all threads and browsers."""
        await asyncio.to_thread(self._threads.shutdown)
        for browser in self._browsers:
            browser.close()

    def _run(
        self, task: Callable[[Browser, CheckAlive], T], alive: CheckAlive, owner: Hashable
    ) -> T:
        is_doubtful = has_been_doubtful = False
        for tries_left in reversed(range(_BROWSERS_PER_TASK)):
            alive()
            try:
                with self._browser().use(owner) as browser:
                    helpers = browser.helper_processes()
                    try:
                        return task(browser, alive)
                    except CompositionFailed as error:
                        is_whole = helpers <= browser.helper_processes()
                        is_doubtful = isinstance(error, PageBlocked) or not is_whole
                        raise
            except (BrowserDied, PageCrashed):
                if not tries_left:
                    raise
            except CompositionFailed:
                # The page is to blame only if it fails in a new browser, too.
                if not is_doubtful or has_been_doubtful or not tries_left:
                    raise
                has_been_doubtful = True
        raise AssertionError("the last try returns or raises")

    def _start(self, everybody: threading.Barrier) -> None:
        everybody.wait()
        self._browser().start()

    def _browser(self) -> WarmBrowser:
        if not hasattr(self._here, "browser"):
            self._here.browser = WarmBrowser(self._limits)
            self._browsers.append(self._here.browser)
        browser: WarmBrowser = self._here.browser
        return browser
