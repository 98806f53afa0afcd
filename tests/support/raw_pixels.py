"""For tests of frames that are read from Chromium's memory, which not every Chromium supports."""

import pytest

from framekiln.capture.browser import Browser

KNOWN_MAJOR = "156"
"""The Chromium version on which reading frames from memory is required to work."""


def require_raw_pixels(browser: Browser, reason: str | None) -> None:
    """Skip the test if another version of Chromium gave a reason for screenshots."""
    if reason is not None and f"/{KNOWN_MAJOR}." not in browser.version:
        pytest.skip(f"frames of {browser.version} cannot be read from its memory: {reason}")
