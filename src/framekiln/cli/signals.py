"""Signal handling: a signal cancels the work, which then cleans up."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END_WITHIN_S = 30
"""For the parts of the service: no other process would kill them if they were orphaned."""


def on_stop_signal(react: Callable[[signal.Signals], None], *, end_within_s: int = 0) -> None:
    """Call `react` in the running loop, with the signal, on every stop signal.

    With `end_within_s`, the kernel kills us if we do not exit in time, because the sender of the
    signal may be gone.
    """
    loop = asyncio.get_running_loop()

    def end(number: signal.Signals) -> None:
        signal.alarm(end_within_s)
        react(number)

    for number in STOP_SIGNALS:
        # With nohup, a closed terminal is not a request to stop.
        if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        loop.add_signal_handler(number, end, number)


async def run_until_signal(
    work: Coroutine[Any, Any, None],
    *,
    insist: Callable[[], None] | None = None,
    end_within_s: int = 0,
) -> None:
    """Run `work` to its end, or cancel it at the first signal.

    A second Ctrl-C (SIGINT) calls `insist`, because a person is waiting. Make and service managers
    may send other signals twice, so repetitions of those are ignored.
    """
    task = asyncio.create_task(work)
    asked = False

    def react(number: signal.Signals) -> None:
        nonlocal asked
        if not asked:
            asked = True
            task.cancel()
        elif insist and number == signal.SIGINT:
            insist()

    on_stop_signal(react, end_within_s=end_within_s)
    try:
        await task
    except asyncio.CancelledError:
        if not asked:
            raise
