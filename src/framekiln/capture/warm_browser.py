"""A Chromium that keeps running between pages, and is replaced when unhealthy.

Used by one thread, which must outlive the browser, because the sandbox dies with it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from framekiln.capture.browser import Browser, open_browser

# Chromium grows a little with every page; a restart takes less than a tenth of a second.
_PAGES_PER_BROWSER: Final = 100


class WarmBrowser:
    """Provides its browser to one user at a time."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._browser: Browser | None = None
        self._pages_left = 0

    @contextmanager
    def use(self) -> Iterator[Browser]:
        """Provide a healthy browser; any error closes it."""
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
        """Close the browser, if there is one."""
        self._browser = None
        self._open.close()
