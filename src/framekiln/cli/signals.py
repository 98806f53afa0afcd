"""Ending on request: a signal cancels the work, which then cleans up in peace."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END_WITHIN_S = 30
"""For the parts of the service: orphaned, nobody would end them for good."""


def on_ending_signal(react: Callable[[], None], *, end_within_s: int = 0) -> None:
    """Call `react` in the running loop whenever we are asked to end.

    With `end_within_s` the kernel ends us when we do not: whoever asked may be gone.
    """
    loop = asyncio.get_running_loop()

    def end() -> None:
        signal.alarm(end_within_s)
        react()

    for number in ENDING:
        # Started with nohup, a closed terminal is no request.
        if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        loop.add_signal_handler(number, end)


async def until_signal(
    work: Coroutine[Any, Any, None],
    *,
    insist: Callable[[], None] | None = None,
    end_within_s: int = 0,
) -> None:
    """Run `work` to its end, or cancel it at the first signal; later ones call `insist`."""
    task = asyncio.create_task(work)
    asked = False

    def react() -> None:
        nonlocal asked
        if not asked:
            asked = True
            task.cancel()
        elif insist:
            insist()

    on_ending_signal(react, end_within_s=end_within_s)
    try:
        await task
    except asyncio.CancelledError:
        if not asked:
            raise
