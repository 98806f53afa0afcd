"""What somebody waits for goes first; what is made ahead stands still meanwhile."""

import asyncio
import signal
from contextlib import AsyncExitStack

from framekiln.playback.segment_worker import PriorityGate


class BackgroundTask:
    """Work that nobody waits for; `sent` is what its child received."""

    def __init__(self, turns: PriorityGate, work: str) -> None:
        self.sent: list[signal.Signals] = []
        self.has_begun = asyncio.Event()
        self._turns, self._work = turns, work
        self._end = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        self._end.set()
        await self._task

    async def _run(self) -> None:
        async with self._turns.background(self._work) as pause_switch, asyncio.timeout(60) as clock:
            with pause_switch.control(self.sent.append, clock):
                self.has_begun.set()
                await self._end.wait()


async def test_requested_work_pauses_background_work() -> None:
    turns = PriorityGate()
    ahead = BackgroundTask(turns, "next")
    await ahead.has_begun.wait()
    with turns.requested(), turns.requested():
        assert ahead.sent == [signal.SIGSTOP]
    assert ahead.sent == [signal.SIGSTOP, signal.SIGCONT]
    await ahead.end()


async def test_background_work_does_not_start_while_requests_wait() -> None:
    turns = PriorityGate()
    async with AsyncExitStack() as stack:
        stack.enter_context(turns.requested())
        ahead = BackgroundTask(turns, "next")
        await asyncio.sleep(0)
        assert not ahead.has_begun.is_set()
    await ahead.has_begun.wait()
    await ahead.end()


async def test_promoted_work_resumes_and_pauses_the_rest() -> None:
    turns = PriorityGate()
    wanted, other = BackgroundTask(turns, "wanted"), BackgroundTask(turns, "other")
    await wanted.has_begun.wait()
    await other.has_begun.wait()
    assert not turns.promote("unknown")
    with turns.requested():
        assert turns.promote("wanted")
        assert turns.promote("wanted")
        assert wanted.sent == [signal.SIGSTOP, signal.SIGCONT]
    assert other.sent == [signal.SIGSTOP]
    await wanted.end()
    assert other.sent == [signal.SIGSTOP, signal.SIGCONT]
    await other.end()
    assert not turns.promote("wanted")


async def test_waiting_background_work_can_be_promoted() -> None:
    turns = PriorityGate()
    with turns.requested():
        ahead = BackgroundTask(turns, "next")
        await asyncio.sleep(0)
        assert turns.promote("next")
        await ahead.has_begun.wait()
        await ahead.end()
