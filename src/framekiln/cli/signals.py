"""Signal handling: a signal cancels the work, which then cleans up."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
END_WITHIN_S = 30
"""For the parts of the service: orphaned, nobody would end them for good."""


def on_stop_signal(react: Callable[[signal.Signals], None], *, end_within_s: int = 0) -> None:
    """Call `react` in the running loop, with the signal, whenever we are asked to end.

    With `end_within_s` the kernel ends us when we do not: whoever asked may be gone.
    """
    loop = asyncio.get_running_loop()

    def end(number: signal.Signals) -> None:
        signal.alarm(end_within_s)
        react(number)

    for number in STOP_SIGNALS:
        # Started with nohup, a closed terminal is no request.
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

    Another Ctrl-C (SIGINT) calls `insist`: a person waits. Other signals come twice by themselves,
    from make and from service managers, and then mean nothing more.
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
