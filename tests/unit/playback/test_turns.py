"""What somebody waits for goes first; what is made ahead stands still meanwhile."""

import asyncio
import signal
from contextlib import AsyncExitStack

from framekiln.playback.turns import Turns


class Ahead:
    """Work that nobody waits for; `sent` is what its child was told."""

    def __init__(self, turns: Turns, work: str) -> None:
        self.sent: list[signal.Signals] = []
        self.has_begun = asyncio.Event()
        self._turns, self._work = turns, work
        self._end = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        self._end.set()
        await self._task

    async def _run(self) -> None:
        async with self._turns.ahead(self._work) as brake, asyncio.timeout(60) as clock:
            with brake.on(self.sent.append, clock):
                self.has_begun.set()
                await self._end.wait()


async def test_what_is_asked_for_holds_what_is_not() -> None:
    turns = Turns()
    ahead = Ahead(turns, "next")
    await ahead.has_begun.wait()
    with turns.asked(), turns.asked():
        assert ahead.sent == [signal.SIGSTOP]
    assert ahead.sent == [signal.SIGSTOP, signal.SIGCONT]
    await ahead.end()


async def test_nothing_is_begun_ahead_while_somebody_waits() -> None:
    turns = Turns()
    async with AsyncExitStack() as stack:
        stack.enter_context(turns.asked())
        ahead = Ahead(turns, "next")
        await asyncio.sleep(0)
        assert not ahead.has_begun.is_set()
    await ahead.has_begun.wait()
    await ahead.end()


async def test_what_is_asked_for_after_all_goes_on_at_once_and_holds_the_rest() -> None:
    turns = Turns()
    wanted, other = Ahead(turns, "wanted"), Ahead(turns, "other")
    await wanted.has_begun.wait()
    await other.has_begun.wait()
    assert not turns.hurry("unknown")
    with turns.asked():
        assert turns.hurry("wanted")
        assert turns.hurry("wanted")
        assert wanted.sent == [signal.SIGSTOP, signal.SIGCONT]
    assert other.sent == [signal.SIGSTOP]
    await wanted.end()
    assert other.sent == [signal.SIGSTOP, signal.SIGCONT]
    await other.end()
    assert not turns.hurry("wanted")


async def test_what_waits_ahead_can_be_hurried() -> None:
    turns = Turns()
    with turns.asked():
        ahead = Ahead(turns, "next")
        await asyncio.sleep(0)
        assert turns.hurry("next")
        await ahead.has_begun.wait()
        await ahead.end()
