"""A Chromium kept running between pages, and replaced once it is unhealthy.

Used by one thread; that thread must outlive the browser, because the sandbox dies with it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from framekiln.capture.browser import Browser, open_browser

# Chromium grows a little with every page; a fresh start costs less than a tenth of a second.
_PAGES_PER_BROWSER: Final = 100


class WarmBrowser:
    """Gives out its browser, one user at a time."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._browser: Browser | None = None
        self._pages_left = 0

    @contextmanager
    def use(self) -> Iterator[Browser]:
        """Lend a healthy browser; whatever goes wrong meanwhile ends it."""
        if self._browser is None or not self._browser.is_alive or self._pages_left <= 0:
            self.close()
            self._browser = self._open.enter_context(open_browser())
            self._pages_left = _PAGES_PER_BROWSER
        self._pages_left -= 1
        try:
            yield self._browser
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the browser, if there is one."""
        self._browser = None
        self._open.close()
