"""Places for confined children: how many, how much memory, whose turn."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from framekiln.kit.confined.budget import ChildBudget, children_of, default_budget

GIB = 1 << 30


class Children:
    """Starts and ends children by name; `running` has the names of those with a place."""

    def __init__(self, budget: ChildBudget) -> None:
        self._budget = budget
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.running: list[str] = []

    async def start(self, name: str, memory_bytes: int = GIB, owner: str = "") -> None:
        self._ends[name] = asyncio.Event()
        with children_of(owner):
            self._tasks[name] = asyncio.create_task(self._run(name, memory_bytes))
        await settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]
        await settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        with suppress(asyncio.CancelledError):
            await self._tasks[name]
        await settle()

    async def _run(self, name: str, memory_bytes: int) -> None:
        async with self._budget.place(memory_bytes):
            self.running.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.running.remove(name)

    async def end_all(self) -> None:
        for end in self._ends.values():
            end.set()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@asynccontextmanager
async def opened(*, children: int = 100, memory_bytes: int = 100 * GIB) -> AsyncIterator[Children]:
    started = Children(ChildBudget(children=children, memory_bytes=memory_bytes))
    try:
        yield started
    finally:
        await started.end_all()


async def test_the_number_of_concurrent_children_is_limited() -> None:
    async with opened(children=2) as children:
        for name in "abc":
            await children.start(name)
        assert children.running == ["a", "b"]
        await children.end("a")
        assert children.running == ["b", "c"]


async def test_the_memory_limits_of_children_stay_within_the_budget() -> None:
    async with opened(memory_bytes=4 * GIB) as children:
        for name in "abc":
            await children.start(name, 2 * GIB)
        assert children.running == ["a", "b"]


async def test_a_child_larger_than_the_budget_runs_alone_and_is_not_overtaken() -> None:
    async with opened(memory_bytes=2 * GIB) as children:
        await children.start("small")
        await children.start("huge", 8 * GIB)
        await children.start("late")
        assert children.running == ["small"]
        await children.end("small")
        assert children.running == ["huge"]
        await children.end("huge")
        assert children.running == ["late"]


async def test_owners_take_turns() -> None:
    async with opened(children=1) as children:
        for number in range(4):
            await children.start(f"a{number}", owner="a")
        await children.start("b0", owner="b")
        order = []
        for _ in range(5):
            (name,) = children.running
            order.append(name)
            await children.end(name)
        assert order == ["a0", "a1", "b0", "a2", "a3"]


@pytest.mark.parametrize("name", ["running", "waiting"])
async def test_a_cancelled_child_frees_its_slot(name: str) -> None:
    async with opened(children=1) as children:
        await children.start("running")
        await children.start("waiting")
        await children.start("next")
        await children.cancel(name)
        rest = [each for each in ("running", "waiting", "next") if each != name]
        for expected in rest:
            assert children.running == [expected]
            await children.end(expected)


def test_event_loops_of_several_threads_share_the_budget() -> None:
    budget = ChildBudget(children=2, memory_bytes=GIB)
    lock = threading.Lock()
    now = most = done = 0

    async def work() -> None:
        nonlocal now, most, done
        for _ in range(50):
            async with budget.place(1):
                with lock:
                    now += 1
                    most = max(most, now)
                await asyncio.sleep(0)
                with lock:
                    now -= 1
                    done += 1

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (now, done) == (0, 300)
    assert most <= 2


async def test_the_default_follows_from_the_machine_and_settings_replace_it() -> None:
    async with default_budget().place(GIB), default_budget().place(1 << 50):
        pass
    children = Children(default_budget(children=1, memory_bytes=GIB))
    await children.start("a")
    await children.start("b")
    assert children.running == ["a"]
    await children.end_all()
