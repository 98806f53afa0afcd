"""Locks on all machines, held by one connection of each process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from framekiln.db.advisory_locks import AdvisoryLocks
from framekiln.db.pool import Database, DatabaseUnavailable
from tests.support.jobs import open_database
from tests.support.timeouts import TIMEOUT_S


class Holder:
    """A task that holds a lock until it is told to end."""

    def __init__(self, locks: AdvisoryLocks, name: str) -> None:
        self.has_lock = asyncio.Event()
        self._end = asyncio.Event()
        self._task = asyncio.create_task(self._hold(locks, name))

    async def _hold(self, locks: AdvisoryLocks, name: str) -> None:
        async with locks.lock(name):
            self.has_lock.set()
            await self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await self._task

    async def cancel(self, *, times: int = 1) -> None:
        for _ in range(times):
            self._task.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(self._task, return_exceptions=True)


@asynccontextmanager
async def two_processes(conninfo: str) -> AsyncIterator[tuple[AdvisoryLocks, AdvisoryLocks]]:
    async with open_database(conninfo) as one, open_database(conninfo) as other:
        yield AdvisoryLocks(one), AdvisoryLocks(other)


async def held_locks(conninfo: str) -> int:
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        cursor = await connection.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE locktype = 'advisory' AND datname = current_database()"
        )
        row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def test_a_lock_is_held_once_in_a_process_and_on_all_machines(conninfo: str) -> None:
    async with two_processes(conninfo) as (here, there):
        waiting = [Holder(here, "a"), Holder(here, "a"), Holder(there, "a")]
        while waiting:
            events = [asyncio.create_task(each.has_lock.wait()) for each in waiting]
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
            [with_lock] = [each for each in waiting if each.has_lock.is_set()]
            assert await held_locks(conninfo) == 1
            waiting.remove(with_lock)
            await with_lock.end()
        assert await held_locks(conninfo) == 0


async def test_a_lock_is_tried_without_waiting(conninfo: str) -> None:
    async with two_processes(conninfo) as (here, there):
        async with (
            here.try_lock("a") as is_here,
            here.try_lock("a") as is_here_again,
            there.try_lock("a") as is_there,
            there.try_lock("b") as is_another,
        ):
            assert (is_here, is_here_again, is_there, is_another) == (True, False, False, True)
        assert await held_locks(conninfo) == 0
        async with there.try_lock("a") as is_there:
            assert is_there


async def test_many_locks_need_one_connection(conninfo: str) -> None:
    """Each download of a slow server kept one of the few connections of a process."""
    database = Database(conninfo, max_connections=2)
    await database.open()
    try:
        locks = AdvisoryLocks(database)
        holders = [Holder(locks, f"{number}") for number in range(50)]
        await asyncio.gather(*(each.has_lock.wait() for each in holders))
        async with database.connection() as connection:
            await connection.execute("SELECT 1")
        await asyncio.gather(*(each.end() for each in holders))
        assert await held_locks(conninfo) == 0
        async with database.connection(), database.connection():
            pass
    finally:
        await database.close()


async def test_a_cancelled_holder_leaves_no_lock(conninfo: str) -> None:
    async with two_processes(conninfo) as (here, there):
        other = Holder(here, "b")
        for waits in range(20):
            holder = Holder(here, "a")
            for _ in range(waits):
                await asyncio.sleep(0)
            await holder.cancel()
        first = Holder(there, "a")
        await asyncio.gather(first.has_lock.wait(), other.has_lock.wait())
        await first.end()
        await other.end()


@pytest.mark.parametrize("cancellations", [1, 2, 3])
async def test_a_holder_that_is_cancelled_while_it_unlocks_leaves_no_lock(
    conninfo: str, cancellations: int
) -> None:
    """Other machines waited for as long as the process lived."""
    async with asyncio.timeout(TIMEOUT_S), two_processes(conninfo) as (here, there):
        other = Holder(here, "b")
        await other.has_lock.wait()
        for waits in range(20):
            holder = Holder(here, "a")
            await holder.has_lock.wait()
            ending = asyncio.create_task(holder.end())
            for _ in range(waits):
                await asyncio.sleep(0)
            await holder.cancel(times=cancellations)
            await asyncio.gather(ending, return_exceptions=True)
            async with there.try_lock("a") as is_free:
                assert is_free
        await other.end()


async def test_a_lost_connection_is_replaced(conninfo: str) -> None:
    async with open_database(conninfo) as database:
        locks = AdvisoryLocks(database)
        stays = Holder(locks, "stays")
        await stays.has_lock.wait()
        async with await psycopg.AsyncConnection.connect(conninfo) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database"
                " ON pg_database.oid = database"
                " WHERE locktype = 'advisory' AND datname = current_database()"
            )
        with pytest.raises(DatabaseUnavailable):
            async with locks.lock("first"):
                pass
        async with locks.lock("second"):
            assert await held_locks(conninfo) == 1
        with pytest.raises(DatabaseUnavailable):
            await stays.end()
