"""Work in threads ends when the task that started it is cancelled."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from framekiln.kit.cancellation import (
    WorkCancelled,
    check_cancelled,
    in_other_thread,
    run_cancellable,
    wait_for_result,
)
from tests.support.cancelled import outcome_when_cancelled
from tests.support.timeouts import TIMEOUT_S


async def test_outside_of_work_nothing_is_cancelled() -> None:
    check_cancelled()
    await run_cancellable(check_cancelled)
    assert await run_cancellable(lambda: "made") == "made"


async def test_an_endless_loop_ends_with_its_task() -> None:
    begun = threading.Event()

    def loop() -> None:
        while True:
            check_cancelled()
            begun.set()

    task = asyncio.create_task(run_cancellable(loop))
    assert await asyncio.to_thread(begun.wait, TIMEOUT_S)
    task.cancel()
    async with asyncio.timeout(TIMEOUT_S):
        await asyncio.wait([task])
    assert task.cancelled()


async def test_a_second_cancellation_waits_for_the_thread_too() -> None:
    begun, may_end = threading.Event(), threading.Event()
    ended: list[str] = []

    def work() -> None:
        begun.set()
        may_end.wait(TIMEOUT_S)
        ended.append("thread")
        raise ValueError("of no interest to anybody")

    async def use_files() -> None:
        try:
            await run_cancellable(work)
        finally:
            ended.append("task")

    task = asyncio.create_task(use_files())
    assert await asyncio.to_thread(begun.wait, TIMEOUT_S)
    for _ in range(3):
        task.cancel()
        # Each is seen before the next.
        for _ in range(3):
            await asyncio.sleep(0)
    may_end.set()
    await asyncio.wait([task])
    assert task.cancelled()
    assert ended == ["thread", "task"]


async def test_clean_up_may_wait_after_the_error() -> None:
    def work() -> str:
        with pytest.raises(WorkCancelled):
            check_cancelled(once=True)
        check_cancelled(once=True)
        with pytest.raises(WorkCancelled):
            check_cancelled()
        return "cleaned up"

    assert await outcome_when_cancelled(work) == "cleaned up"


async def test_other_threads_of_the_work_end_too() -> None:
    def work() -> int:
        with ThreadPoolExecutor(3) as threads:
            calls = [threads.submit(in_other_thread(check_cancelled)) for _ in range(3)]
            return sum(isinstance(call.exception(), WorkCancelled) for call in calls)

    assert await outcome_when_cancelled(work) == 3


async def test_a_wait_ends_and_cancels_what_it_waits_for() -> None:
    awaited: Future[None] = Future()
    outcome = await outcome_when_cancelled(lambda: wait_for_result(awaited, TIMEOUT_S))
    assert isinstance(outcome, WorkCancelled)
    assert awaited.cancelled()


def test_a_wait_has_a_limit() -> None:
    with pytest.raises(TimeoutError):
        wait_for_result(Future[None](), 0.01)
