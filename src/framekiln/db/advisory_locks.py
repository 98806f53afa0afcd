"""Locks on all machines for work that takes long; one connection of the process holds all of them.

PostgreSQL releases them when that connection ends, so also when the process dies.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, LiteralString

import psycopg

from framekiln.db.pool import Connection, Database, DatabaseUnavailable

_ASK_AGAIN_S: Final = 0.25
_TRY: Final[LiteralString] = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0)) AS answer"
_UNLOCK: Final[LiteralString] = "SELECT pg_advisory_unlock(hashtextextended(%s, 0)) AS answer"


class AdvisoryLocks:
    """Named locks; neither holding one nor waiting for one needs a connection of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keeper: _ConnectionKeeper | None = None
        # A connection gets its own lock a second time, so tasks of this process wait here first.
        self._turns: dict[str, asyncio.Lock] = {}
        self._users: Counter[str] = Counter()

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        """Wait until nobody else holds the lock, and hold it during the block."""
        async with self._turn(name), self._connection() as connection:
            # A cancelled request may have got the lock, so it is given back in any case.
            try:
                while not await _ask(connection, _TRY, name):  # noqa: ASYNC110 - not of this process
                    await asyncio.sleep(_ASK_AGAIN_S)
                yield
            finally:
                await _ask(connection, _UNLOCK, name)

    @asynccontextmanager
    async def try_lock(self, name: str) -> AsyncIterator[bool]:
        """Yield whether nobody else holds the lock; if so, hold it during the block."""
        if self._users[name]:
            yield False
            return
        async with self._turn(name), self._connection() as connection:
            # A cancelled request may have got the lock.
            is_ours = True
            try:
                is_ours = await _ask(connection, _TRY, name)
                yield is_ours
            finally:
                if is_ours:
                    await _ask(connection, _UNLOCK, name)

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[None]:
        self._users[name] += 1
        try:
            async with self._turns.setdefault(name, asyncio.Lock()):
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._turns[name]

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Connection]:
        if self._keeper is None or self._keeper.is_lost:
            self._keeper = _ConnectionKeeper(self._database)
        keeper = self._keeper
        keeper.users += 1
        try:
            yield await asyncio.shield(keeper.connection)
        finally:
            keeper.users -= 1
            if not keeper.users:
                keeper.end()
                if self._keeper is keeper:
                    self._keeper = None


class _ConnectionKeeper:
    """Keeps a connection of the pool in a task of its own, because its users come and go."""

    def __init__(self, database: Database) -> None:
        self.users = 0
        self.connection: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()
        self._task = asyncio.create_task(self._keep(database))

    @property
    def is_lost(self) -> bool:
        """Whether nobody can use the connection any more."""
        if not self.connection.done():
            return False
        return self.connection.exception() is not None or self.connection.result().closed

    def end(self) -> None:
        """Give the connection back."""
        self._ended.set()

    async def _keep(self, database: Database) -> None:
        try:
            async with database.connection() as connection:
                self.connection.set_result(connection)
                await self._ended.wait()
        except DatabaseUnavailable as error:
            if not self.connection.done():
                self.connection.set_exception(error)


async def _ask(connection: Connection, statement: LiteralString, name: str) -> bool:
    """Return the answer; a caller that is cancelled meanwhile is cancelled after it.

    The connection outlives its callers: a statement that was interrupted would leave a lock on it.
    """
    asking = asyncio.create_task(_execute(connection, statement, name))
    cancelled: asyncio.CancelledError | None = None
    while not asking.done():
        try:
            await asyncio.wait([asking])
        except asyncio.CancelledError as error:
            cancelled = error
    failure = asking.exception()
    if cancelled is not None:
        raise cancelled from failure
    return asking.result()


async def _execute(connection: Connection, statement: LiteralString, name: str) -> bool:
    try:
        cursor = await connection.execute(statement, (name,))
        row = await cursor.fetchone()
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable("The connection to PostgreSQL was lost.") from error
    return row is not None and bool(row["answer"])
