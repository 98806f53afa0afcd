"""Longer limits for our own code where it runs in the process of the tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from framekiln.api import health
from framekiln.capture import browser
from framekiln.db import notify, pool
from framekiln.kit.confined import forked_child
from framekiln.videos import frames, sources
from framekiln.videos.templates import work
from tests.support.timeouts import TIMEOUT_S


@contextmanager
def generous_limits() -> Iterator[None]:
    """Raise the limits that are no test's subject, but that a busy machine may go over."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (browser, "_START_WITHIN_S"),
            (forked_child, "_START_S"),
            (forked_child, "_LEAVING_S"),
            (frames, "_MADE_WITHIN_S"),
            (health, "CHECK_WITHIN_S"),
            (notify, "OPEN_TIMEOUT_S"),
            (pool, "OPEN_TIMEOUT_S"),
            (pool, "READY_TIMEOUT_S"),
            (sources, "_ALL_WITHIN_S"),
        ):
            patch.setattr(module, name, TIMEOUT_S)
        long_s = round(TIMEOUT_S)
        patch.setattr(work, "_LIMITS", replace(work._LIMITS, cpu_s=long_s, wall_s=TIMEOUT_S))
        yield
