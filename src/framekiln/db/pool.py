"""The connection pool: transactions for changes, plain connections for reads.

It survives a restart of PostgreSQL. A caller gets a working connection, or `DatabaseUnavailable`
within a few seconds; statements are never retried.
"""

import asyncio
import math
import select
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from types import TracebackType

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool
from pydantic_core import from_json

from framekiln.db.conninfo import complete_conninfo
from framekiln.kit.errors import Outage

Connection = psycopg.AsyncConnection[DictRow]

MAX_CONNECTIONS = 8
ACQUIRE_TIMEOUT_S = 5.0
OPEN_TIMEOUT_S = 5.0
READY_TIMEOUT_S = 2.0
# Short on purpose: the pool backs off longer and longer while it retries by itself, and starts over
# with the next caller once it has given up.
RECONNECT_TIMEOUT_S = 3.0
# A server that dies closes the connection, which is detected without a query; one that lost its
# network does not.
_ASKED_AGAIN_AFTER_S = 1.0


class DatabaseUnavailable(Outage):
    """PostgreSQL does not respond, or the connection was lost."""

    code = "database_unavailable"


class _PooledConnection(psycopg.AsyncConnection[DictRow]):
    worked_at = -math.inf
    """When it was last returned in working order, by the monotonic clock."""


_Pool = AsyncConnectionPool[_PooledConnection]


class Database:
    """A pool of at most `max_connections`; rows are dictionaries."""

    def __init__(self, conninfo: str, *, max_connections: int = MAX_CONNECTIONS) -> None:
        self._conninfo = complete_conninfo(conninfo)
        self._max_connections = max_connections
        self._pool: _Pool | None = None

    async def open(self) -> None:
        """Connect; raise `DatabaseUnavailable` if the server does not respond in time."""
        pool = _Pool(
            self._conninfo,
            connection_class=_PooledConnection,
            kwargs={"autocommit": True, "row_factory": dict_row},
            min_size=1,
            max_size=self._max_connections,
            configure=_configure,
            reconnect_timeout=RECONNECT_TIMEOUT_S,
            open=False,
        )
        try:
            with NoLostCancellation():
                await pool.open(wait=True, timeout=OPEN_TIMEOUT_S)
        except BaseException as error:
            await pool.close()
            if not isinstance(error, psycopg.OperationalError):
                raise
            raise DatabaseUnavailable(
                f"PostgreSQL did not answer within {OPEN_TIMEOUT_S:g} s: is it running,"
                " and is the database URL right?"
            ) from error
        self._pool = pool

    async def close(self) -> None:
        """Close every connection; closing twice is harmless."""
        pool, self._pool = self._pool, None
        if pool is not None:
            with NoLostCancellation():
                await pool.close()

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """Yield a connection on which each statement commits by itself: for reads."""
        return _Borrowed(self._pool)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Yield a connection inside BEGIN..COMMIT; an exception rolls back."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def is_ready(self) -> bool:
        """Whether a query succeeds at once; never raises."""
        try:
            async with asyncio.timeout(READY_TIMEOUT_S), self.connection() as connection:
                await connection.execute("SELECT 1")
        except (TimeoutError, DatabaseUnavailable, psycopg.Error):
            return False
        return True


class _Borrowed(AbstractAsyncContextManager[Connection]):
    """A connection of the pool for the length of a block."""

    def __init__(self, pool: _Pool | None) -> None:
        self._pool = pool

    async def __aenter__(self) -> Connection:
        if self._pool is None:
            raise DatabaseUnavailable("The database pool is not open.")
        self._connection = await _acquire(self._pool)
        self._cancellation = NoLostCancellation()
        self._cancellation.__enter__()
        return self._connection

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._pool is not None, "a connection was taken from it"
        connection = self._connection
        connection.worked_at = -math.inf
        try:
            self._cancellation.__exit__(kind, error, traceback)
            if error is None:
                connection.worked_at = time.monotonic()
            elif isinstance(error, psycopg.OperationalError) and _is_lost(connection, error):
                raise DatabaseUnavailable("The connection to PostgreSQL was lost.") from error
        finally:
            await self._pool.putconn(connection)


async def _configure(connection: _PooledConnection) -> None:
    """Read times in UTC, whatever the server's setting, so that they are written alike.

    And read JSON with pydantic's parser, which takes a fifth of the time of Python's.
    """
    set_json_loads(from_json, connection)
    await connection.execute("SET TIME ZONE 'UTC'")


async def _acquire(pool: _Pool) -> _PooledConnection:
    """Return a connection that has just responded.

    The pool's own check pauses longer after each dead connection, so a full pool would not recover
    from a restarted server in time. There are at most `max_size` dead ones, so this does not pause.
    """
    give_up_at = time.monotonic() + ACQUIRE_TIMEOUT_S
    while True:
        try:
            connection = await _take(pool, timeout_s=give_up_at - time.monotonic())
        except psycopg.OperationalError as error:
            raise DatabaseUnavailable(
                f"No connection to PostgreSQL within {ACQUIRE_TIMEOUT_S:g} s: it is down,"
                " or all connections of this process are busy."
            ) from error
        if _has_just_worked(connection):
            return connection
        try:
            with NoLostCancellation():
                await AsyncConnectionPool.check_connection(connection)
        except psycopg.OperationalError:
            await pool.putconn(connection)
        except BaseException:
            await pool.putconn(connection)
            raise
        else:
            return connection


async def _take(pool: _Pool, *, timeout_s: float) -> _PooledConnection:
    connection: _PooledConnection | None = None
    try:
        with NoLostCancellation():
            connection = await pool.getconn(timeout=timeout_s)
    except asyncio.CancelledError:
        if connection is not None:
            await pool.putconn(connection)
        raise
    return connection


class NoLostCancellation(AbstractContextManager[None]):
    """Raises the cancellation that the block received but did not raise.

    The canceller would wait for the task forever. The pool waits with `asyncio.wait_for`, which on
    Python 3.11 drops a cancellation that arrives together with the awaited result. And psycopg asks
    the server to cancel the running statement first: if the server is gone, this error replaces the
    cancellation.
    """

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._before = task, task.cancelling()

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        is_other = error is not None and not isinstance(error, psycopg.Error)
        if not is_other and self._task.cancelling() > self._before:
            raise asyncio.CancelledError from error


def _has_just_worked(connection: _PooledConnection) -> bool:
    """Whether it worked so recently that a check is unnecessary."""
    is_recent = time.monotonic() - connection.worked_at < _ASKED_AGAIN_AFTER_S
    return is_recent and not connection.closed and _is_silent(connection.fileno())


def _is_silent(socket: int) -> bool:
    """Whether the socket has no data; a server that dies closes it, which counts as data."""
    poll = select.poll()
    poll.register(socket, select.POLLIN | select.POLLRDHUP)
    return not poll.poll(0)


def _is_lost(connection: Connection, error: psycopg.OperationalError) -> bool:
    """Whether the server went away, as opposed to refusing one statement."""
    ending = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown)
    return connection.closed or any(isinstance(each, ending) for each in _with_causes(error))


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    # In a pipeline of statements, the driver's error hides the server's last message.
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
