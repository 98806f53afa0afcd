"""Cancellation of synchronous work in threads.

A thread cannot be stopped from outside. Long loops and waits call `check_cancelled`, which raises
`WorkCancelled` once the task that started the work was cancelled. It does nothing elsewhere, so
libraries need not know whether they run for a task.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

CHECK_EVERY_S: Final = 0.2
"""How long a wait may last without a check."""


class WorkCancelled(Exception):
    """Nobody wants the result of this work any more. Never handled, only passed on."""


class _Token:
    """Shared by all threads that work for one task."""

    def __init__(self) -> None:
        self._is_cancelled = threading.Event()
        self._raised_in: set[int] = set()

    def cancel(self) -> None:
        self._is_cancelled.set()

    def check(self, *, once: bool) -> None:
        thread = threading.get_ident()
        if self._is_cancelled.is_set() and not (once and thread in self._raised_in):
            self._raised_in.add(thread)
            raise WorkCancelled


_token: ContextVar[_Token | None] = ContextVar("cancellation", default=None)


def check_cancelled(*, once: bool = False) -> None:
    """Raise `WorkCancelled` if the work of this thread was cancelled.

    With `once`, only if it was not raised in this thread before: for waits that are also needed to
    clean up afterwards.
    """
    token = _token.get()
    if token is not None:
        token.check(once=once)


async def run_cancellable(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread; if this is cancelled, cancel the work and wait for its end."""
    return await run_in_executor(None, partial(work, *args, **kwargs))


async def run_in_executor(executor: Executor | None, work: Callable[[], T]) -> T:
    """Run `work` in a thread of `executor`, as `run_cancellable` does."""
    # Confined children only check. They are started often, and it would cost each of them 30 ms.
    import asyncio  # noqa: PLC0415

    token = _Token()
    context = copy_context()
    context.run(_token.set, token)
    loop = asyncio.get_running_loop()
    working = loop.run_in_executor(executor, context.run, work)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        token.cancel()
        # The thread still uses files that the caller is about to delete, also when this is
        # cancelled once more.
        while not working.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([working])
        raise


def in_other_thread(work: Callable[P, T]) -> Callable[P, T]:
    """Return `work` for other threads, in which it is cancelled together with this one.

    It has the context variables of this thread.
    """
    context = copy_context()

    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        # A context can be entered by one thread at a time.
        return context.copy().run(work, *args, **kwargs)

    return run


def wait_for_result(future: Future[T], within_s: float) -> T:
    """Return the result of a future, or cancel it when the work of this thread is cancelled."""
    waited_s = 0.0
    try:
        while True:
            check_cancelled()
            try:
                return future.result(min(CHECK_EVERY_S, within_s))
            except TimeoutError:
                waited_s += CHECK_EVERY_S
                # The work itself may have raised it.
                if future.done() or waited_s >= within_s:
                    raise
    except BaseException:
        future.cancel()
        raise
