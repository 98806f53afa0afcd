"""A busy Chromium that drops frames: it responds immediately, but draws nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from framekiln.capture.cdp import Params
from framekiln.capture.page_session import PageSession


@contextmanager
def dropping_frames(count: int) -> Iterator[None]:
    """Drop the next `count` frames; all of them must have been requested by the end."""
    draw, left = PageSession.draw, count

    def busy(session: PageSession, params: Params) -> dict[str, Any]:
        nonlocal left
        if left:
            left -= 1
            return {"hasDamage": False}
        return draw(session, params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PageSession, "draw", busy)
        yield
    assert left == 0, "nobody asked again"
