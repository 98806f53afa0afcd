"""Organizations take turns in every queue: a flood of one does not delay the next job of others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import uuid4

import pytest

from framekiln.db.pool import Database
from framekiln.identity.service import Identity
from framekiln.jobs.model import JobContext, NewJob, RunningLimit, WorkerPool
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import SystemClock
from framekiln.kit.ids import OrganizationId
from framekiln.worker.pools import HEAVY_QUEUES
from tests.support.jobs import FAST_TIMING, defer, open_queue
from tests.support.timeouts import TIMEOUT_S

FLOOD = 200
LIMIT = RunningLimit("render", quota="concurrent_renders", default=2)


class TurnHandler:
    """Records whose jobs start, in order; each ends when the test says so."""

    def __init__(self) -> None:
        self.started: asyncio.Queue[str] = asyncio.Queue()
        self.permits = asyncio.Semaphore(0)

    async def __call__(self, job: JobContext) -> None:
        self.started.put_nowait(job.args["organization_id"])
        await self.permits.acquire()

    async def next(self) -> str:
        """Return whose job starts next."""
        async with asyncio.timeout(TIMEOUT_S):
            return await self.started.get()

    async def after_one_ends(self) -> str:
        """End one job, and return whose job starts in its place."""
        self.permits.release()
        return await self.next()


def new_organization() -> str:
    return str(uuid4())


def jobs_of(organization: str, count: int, *, queue: str = "render") -> list[NewJob]:
    return [NewJob("note", {"organization_id": organization}, queue) for _ in range(count)]


@asynccontextmanager
async def workers(
    queue: JobQueue, handler: TurnHandler, *, count: int, queues: list[str], reserved: int = 0
) -> AsyncIterator[None]:
    """Run this many workers, each with one slot and those reserved for others."""
    async with AsyncExitStack() as stack:
        for number in range(count):
            task = asyncio.create_task(
                queue.run_worker(
                    {"note": handler},
                    WorkerPool(tuple(queues), 1, reserved),
                    name=f"test {number}",
                    timing=FAST_TIMING,
                )
            )
            stack.push_async_callback(asyncio.wait, [task])
            stack.callback(task.cancel)
        yield


@pytest.mark.parametrize("name", sorted(HEAVY_QUEUES | {"render", "media", "light_steps", "ahead"}))
async def test_the_first_job_of_another_organization_starts_next(
    queue: JobQueue, database: Database, name: str
) -> None:
    flooder, other = new_organization(), new_organization()
    handler = TurnHandler()
    await defer(queue, database, *jobs_of(flooder, FLOOD, queue=name))
    async with workers(queue, handler, count=3, queues=[name]):
        assert [await handler.next() for _ in range(3)] == [flooder] * 3
        await defer(queue, database, *jobs_of(other, 1, queue=name))
        assert await handler.after_one_ends() == other


async def test_one_slot_is_shared_in_turns(queue: JobQueue, database: Database) -> None:
    first, second, third = (new_organization() for _ in range(3))
    handler = TurnHandler()
    await defer(queue, database, *jobs_of(first, FLOOD))
    async with workers(queue, handler, count=1, queues=["render"]):
        assert await handler.next() == first
        await defer(queue, database, *jobs_of(second, 3), *jobs_of(third, 3))
        order = [await handler.after_one_ends() for _ in range(6)]
    assert {*order[:2]} == {second, third}
    assert order[2] == first
    assert sorted(order[3:5]) == sorted([second, third])


async def test_a_reserved_slot_is_for_organizations_without_a_running_job(
    queue: JobQueue, database: Database
) -> None:
    flooder, other = new_organization(), new_organization()
    handler = TurnHandler()
    await defer(queue, database, *jobs_of(flooder, 3))
    async with workers(queue, handler, count=1, queues=["render"], reserved=1):
        assert await handler.next() == flooder
        await defer(queue, database, *jobs_of(other, 2))
        assert await handler.next() == other
        assert handler.started.empty()
        # Both slots are taken; as before, the next free one goes to whose turn it is.
        assert await handler.after_one_ends() in (flooder, other)


async def test_slots_are_shared_equally(queue: JobQueue, database: Database) -> None:
    first, second = new_organization(), new_organization()
    handler = TurnHandler()
    await defer(queue, database, *jobs_of(first, FLOOD), *jobs_of(second, FLOOD))
    async with workers(queue, handler, count=4, queues=["render"]):
        assert sorted([await handler.next() for _ in range(4)]) == sorted([first, second] * 2)


async def test_priority_decides_within_an_organization(queue: JobQueue, database: Database) -> None:
    one, other = new_organization(), new_organization()
    numbers: asyncio.Queue[int] = asyncio.Queue()

    async def note(job: JobContext) -> None:
        numbers.put_nowait(job.args["n"])

    def numbered(organization: str, n: int, priority: int) -> NewJob:
        args = {"organization_id": organization, "n": n}
        return NewJob("note", args, "render", priority=priority)

    jobs = [numbered(one, 1, 0), numbered(one, 2, 5), numbered(other, 3, -1), numbered(one, 4, 5)]
    await defer(queue, database, *jobs)
    task = asyncio.create_task(
        queue.run_worker({"note": note}, WorkerPool(("render",), 1), name="test")
    )
    async with asyncio.timeout(TIMEOUT_S):
        order = [await numbers.get() for _ in range(4)]
    task.cancel()
    await asyncio.wait([task])
    assert [n for n in order if n != 3] == [2, 4, 1]
    assert order.index(3) < 2


class TestRunningLimit:
    @pytest.fixture
    async def limited(self, conninfo: str) -> AsyncIterator[JobQueue]:
        async with open_queue(conninfo, limits=[LIMIT]) as limited:
            yield limited

    async def test_jobs_over_the_running_limit_wait(
        self, limited: JobQueue, database: Database
    ) -> None:
        flooder, other = new_organization(), new_organization()
        handler = TurnHandler()
        await defer(limited, database, *jobs_of(flooder, 3))
        async with workers(limited, handler, count=3, queues=["render"]):
            assert [await handler.next() for _ in range(2)] == [flooder] * 2
            # The third slot is free, and only the other organization may have it.
            await defer(limited, database, *jobs_of(other, 1))
            assert await handler.next() == other
            assert handler.started.empty()
            assert await handler.after_one_ends() == flooder

    async def test_an_organization_may_have_a_limit_of_its_own(
        self, limited: JobQueue, database: Database
    ) -> None:
        organization = await Identity(database, SystemClock()).create_organization("kiln")
        async with database.connection() as connection:
            await connection.execute(
                "INSERT INTO organization_quota VALUES (%s, 'concurrent_renders', NULL)",
                (organization.id,),
            )
        handler = TurnHandler()
        await defer(limited, database, *jobs_of(str(organization.id), 4))
        async with workers(limited, handler, count=4, queues=["render"]):
            assert [await handler.next() for _ in range(4)] == [str(organization.id)] * 4

    async def test_jobs_do_not_yield_to_organizations_at_their_limit(
        self, limited: JobQueue, database: Database
    ) -> None:
        full, mine = uuid4(), uuid4()
        handler = TurnHandler()
        await defer(limited, database, *jobs_of(str(full), 3))
        async with workers(limited, handler, count=2, queues=["render"]):
            assert [await handler.next() for _ in range(2)] == [str(full)] * 2
            assert not await limited.should_yield("render", OrganizationId(mine))
            assert not await limited.should_yield("files", OrganizationId(mine))


async def test_a_long_job_yields_to_an_organization_without_a_slot(
    queue: JobQueue, database: Database
) -> None:
    mine, other = uuid4(), uuid4()
    handler = TurnHandler()
    await defer(queue, database, *jobs_of(str(mine), 3))
    async with workers(queue, handler, count=2, queues=["render"]):
        assert [await handler.next() for _ in range(2)] == [str(mine)] * 2
        assert not await queue.should_yield("render", OrganizationId(mine))
        await defer(queue, database, *jobs_of(str(other), 2))
        assert await queue.should_yield("render", OrganizationId(mine))
        assert await handler.after_one_ends() == str(other)
        # Each has one slot now: nobody gains by changing places.
        assert not await queue.should_yield("render", OrganizationId(mine))
        assert not await queue.should_yield("render", OrganizationId(other))
