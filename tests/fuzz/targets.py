"""What is fuzzed: a strategy for the input, and what must hold for each input.

A check passes when the input is accepted or refused with an error of ours. Any other exception is a
find. Work is bounded by the size of the input: `MAX_CALLS` function calls, and limits on results.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from framekiln.kit.errors import FramekilnError

MAX_CALLS = 400_000
"""Of Python functions and built-in ones, for inputs of a few kilobytes."""


class TooMuchWork(AssertionError):
    """A small input that caused too many function calls."""


@dataclass(frozen=True)
class FuzzTarget:
    """One reader of untrusted input."""

    name: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    """Raises for a find; errors of ours are no finds."""

    def run(self, value: Any) -> None:
        """Check one input."""
        with bounded_work(), suppress(FramekilnError):
            self.check(value)


@contextmanager
def bounded_work() -> Iterator[None]:
    """Raise `TooMuchWork` after `MAX_CALLS` function calls."""
    left = MAX_CALLS

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_call"):
            left -= 1
            if left < 0:
                sys.setprofile(before)
                raise TooMuchWork(f"more than {MAX_CALLS} function calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def run_async(coroutine: Any) -> Any:
    """Run a coroutine that never waits for anything outside."""
    with asyncio.Runner() as runner:
        return runner.run(coroutine)


def all_targets() -> dict[str, FuzzTarget]:
    """Return all targets by name."""
    from tests.fuzz import http_targets, json_targets, media_targets  # noqa: PLC0415

    modules = (http_targets, media_targets, json_targets)
    return {target.name: target for module in modules for target in module.TARGETS}
