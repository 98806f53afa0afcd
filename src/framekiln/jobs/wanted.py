"""Stops the work of a job once nobody wants its result, such as that of something deleted."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

from framekiln.db.pool import DatabaseUnavailable

ResultT = TypeVar("ResultT")

_CHECK_EVERY_S: Final = 0.5


class WorkUnwanted(Exception):
    """The work was stopped, because nobody wants it any more."""


async def run_while_wanted(
    work: Coroutine[Any, Any, ResultT], is_wanted: Callable[[], Awaitable[bool]]
) -> ResultT:
    """Run `work`; if it is not wanted any more, cancel it within a second and raise."""
    working = asyncio.create_task(work)
    unwanted = asyncio.create_task(_wait_until_unwanted(is_wanted))
    try:
        await asyncio.wait([working, unwanted], return_when=asyncio.FIRST_COMPLETED)
    finally:
        is_stopped = not working.done()
        working.cancel()
        unwanted.cancel()
        await asyncio.gather(working, unwanted, return_exceptions=True)
    if is_stopped:
        unwanted.result()
        # What the work raised meanwhile, such as for a row that is gone, does not matter.
        raise WorkUnwanted
    return working.result()


async def _wait_until_unwanted(is_wanted: Callable[[], Awaitable[bool]]) -> None:
    while True:
        with suppress(DatabaseUnavailable):
            if not await is_wanted():
                return
        await asyncio.sleep(_CHECK_EVERY_S)
