"""Runs work whose task was cancelled before it begins."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from framekiln.kit.cancellation import run_cancellable
from tests.support.timeouts import TIMEOUT_S


async def outcome_when_cancelled(work: Callable[[], Any]) -> Any:
    """Return what `work` returns or raises in a thread that was cancelled already."""
    begun, may_work = threading.Event(), threading.Event()
    outcomes: list[Any] = []

    def run() -> None:
        begun.set()
        may_work.wait(TIMEOUT_S)
        try:
            outcomes.append(work())
        except Exception as error:
            outcomes.append(error)

    task = asyncio.create_task(run_cancellable(run))
    await asyncio.to_thread(begun.wait, TIMEOUT_S)
    task.cancel()
    # The task sees its cancellation before the thread goes on.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    may_work.set()
    await asyncio.wait([task])
    assert task.cancelled()
    return outcomes[0]
