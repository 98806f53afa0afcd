"""One Chromium for all tests of a process; a dead one is replaced.

Each page has its own browser context. A test that damages browsers opens its own.
"""

from contextlib import ExitStack

from framekiln.capture.browser import Browser, open_browser


class SharedBrowser:
    """Opens a Chromium on first use."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None

    def get(self) -> Browser:
        """Return a running Chromium."""
        if self._browser is None or not self._browser.is_alive:
            self.close()
            self._browser = self._stack.enter_context(open_browser())
        return self._browser

    def close(self) -> None:
        """Close it; the next `get` opens another one."""
        self._browser = None
        self._stack.close()
