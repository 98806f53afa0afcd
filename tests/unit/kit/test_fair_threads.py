"""Threads in which owners take turns."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from framekiln.kit.fair_threads import FairThreads
from tests.support.timeouts import TIMEOUT_S


@pytest.fixture
async def threads() -> AsyncIterator[FairThreads]:
    threads = FairThreads(1)
    yield threads
    await threads.close()


class BlockedThread:
    """Blocks a thread until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def wait(self) -> None:
        assert self._open.wait(TIMEOUT_S)

    def open(self) -> None:
        self._open.set()


async def test_owners_take_turns(threads: FairThreads) -> None:
    door, done = BlockedThread(), list[str]()
    blocked = asyncio.create_task(threads.run("a", door.wait))

    def note(name: str) -> Callable[[], None]:
        return lambda: done.append(name)

    waiting = [
        asyncio.create_task(threads.run(name[0], note(name)))
        for name in ("a1", "a2", "a3", "b1", "c1", "b2")
    ]
    await asyncio.sleep(0)
    door.open()
    await asyncio.gather(blocked, *waiting)
    assert done == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_a_cancelled_waiter_does_not_block_others(threads: FairThreads) -> None:
    door = BlockedThread()
    blocked = asyncio.create_task(threads.run("a", door.wait))
    await asyncio.sleep(0)
    given_up = asyncio.create_task(threads.run("a", lambda: None))
    await asyncio.sleep(0)
    given_up.cancel()
    with suppress(asyncio.CancelledError):
        await given_up
    door.open()
    await blocked
    assert await threads.run("b", lambda: 7) == 7
    assert await threads.run("b", lambda: 8) == 8


async def test_an_error_is_raised_and_frees_the_thread(threads: FairThreads) -> None:
    def fail() -> None:
        raise KeyError("x")

    for _ in range(2):
        with pytest.raises(KeyError):
            await threads.run("a", fail)
    assert await threads.run("a", lambda: 1) == 1
