"""A Chromium that keeps running between pages of one owner, and is replaced when unhealthy.

Used by one thread, which must outlive the browser, because the sandbox dies with it.
"""

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.browser_limits import BrowserLimits

# Chromium grows a little with every page; a restart takes about a tenth of a second.
_PAGES_PER_BROWSER: Final = 100


class WarmBrowser:
    """Provides its browser to one user at a time, and never one browser to two owners."""

    def __init__(self, limits: BrowserLimits | None = None) -> None:
        self._limits = limits
        self._open = ExitStack()
        self._browser: Browser | None = None
        self._owner: Hashable = None
        self._pages_left = 0

    def start(self) -> None:
        """Start a browser that has no owner yet, unless one is running."""
        if self._browser is None or not self._browser.is_alive:
            self.close()
            self._browser = self._open.enter_context(open_browser(limits=self._limits))
            self._pages_left = _PAGES_PER_BROWSER

    @contextmanager
    def use(self, owner: Hashable) -> Iterator[Browser]:
        """Provide a healthy browser that has shown pages of this owner only.

        Any error closes it.
        """
        is_slow = self._browser is not None and self._browser.is_slow
        if self._owner not in (None, owner) or self._pages_left <= 0 or is_slow:
            self.close()
        self.start()
        assert self._browser is not None
        self._owner = owner
        self._pages_left -= 1
        try:
            with self._browser.name_cause():
                yield self._browser
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the browser, if there is one."""
        self._browser = self._owner = None
        self._open.close()
