"""Reports of progress: a lost one harms nothing, and their end loses no cancellation."""

import asyncio

import pytest
from psycopg.errors import DeadlockDetected

from framekiln.jobs.progress import ProgressReporter
from tests.support.timeouts import TIMEOUT_S


async def test_a_report_that_fails_is_sent_again_and_does_not_fail_the_work() -> None:
    tried: list[int] = []
    is_sent = asyncio.Event()

    async def send(value: int) -> None:
        tried.append(value)
        if len(tried) == 1:
            raise DeadlockDetected
        is_sent.set()

    async with asyncio.timeout(TIMEOUT_S), ProgressReporter(send) as progress:
        progress.report(7)
        await is_sent.wait()
    assert tried == [7, 7]


async def test_a_report_that_fails_last_does_not_fail_the_work() -> None:
    has_failed = asyncio.Event()

    async def send(value: int) -> None:
        has_failed.set()
        raise DeadlockDetected

    async with asyncio.timeout(TIMEOUT_S), ProgressReporter(send) as progress:
        progress.report(7)
        await has_failed.wait()


async def test_the_end_of_reports_does_not_swallow_the_cancellation_of_the_caller() -> None:
    is_sending, is_ending, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def send(value: int) -> None:
        is_sending.set()
        try:
            await asyncio.Event().wait()
        finally:
            is_ending.set()
            await may_end.wait()

    async def work() -> None:
        async with ProgressReporter(send) as progress:
            progress.report(7)
            await is_sending.wait()

    async with asyncio.timeout(TIMEOUT_S):
        working = asyncio.create_task(work())
        await is_ending.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        may_end.set()
