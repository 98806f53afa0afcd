"""A busy Chromium that drops frames: it responds immediately, but draws nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from framekiln.capture.browser import Browser


@contextmanager
def dropping_frames(browser: Browser, count: int) -> Iterator[None]:
    """Drop the next `count` frames; all of them must have been requested by the end."""
    call, left = browser.connection.call, count

    def busy(method: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        nonlocal left
        if method == "HeadlessExperimental.beginFrame" and left:
            left -= 1
            return {"hasDamage": False}
        return call(method, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browser.connection, "call", busy)
        yield
    assert left == 0, "nobody asked again"
