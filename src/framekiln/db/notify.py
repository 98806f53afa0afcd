"""LISTEN and NOTIFY: after a notification, a follower reads its row again.

A notification carries no state, only a topic ("render:<id>"), so a lost or duplicate one does no
harm: after every reconnect all followers are woken.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

import psycopg
import structlog
from psycopg import sql

from framekiln.db.conninfo import complete_conninfo
from framekiln.db.pool import Connection, DatabaseUnavailable, NoLostCancellation

CHANNEL = "framekiln"
OPEN_TIMEOUT_S = 5.0
PING_EVERY_S = 30.0
RECONNECT_PAUSE_S = 0.5

OnNotify = Callable[[psycopg.Notify], Awaitable[None]]

log = structlog.get_logger(__name__)


async def notify(connection: Connection, topic: str) -> None:
    """Wake the followers of `topic` when the caller's transaction commits."""
    await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, topic))


class Follower:
    """Records whether a topic was notified since the last read."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._topics: set[str] = set()

    def wake(self, topic: str) -> None:
        """Record a change."""
        self._topics.add(topic)
        self._woken.set()

    def take_topics(self) -> set[str]:
        """Return the topics that were notified since the last call."""
        topics, self._topics = self._topics, set()
        return topics

    async def wait(self, timeout_s: float) -> bool:
        """Return True as soon as there is a notification since the last True, otherwise False.

        A notification that arrives while the caller reads the row is kept for the next wait.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class Notifications:
    """The one listening connection of a process, shared by all followers."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._followers: defaultdict[str, set[Follower]] = defaultdict(set)
        self._listening = asyncio.Event()
        self._task: asyncio.Task[NoReturn] | None = None

    async def open(self) -> None:
        """Start listening; raise `DatabaseUnavailable` if the server does not respond in time."""
        self._listening.clear()
        self._task = asyncio.create_task(
            listen(
                self._conninfo, [CHANNEL], on_listening=self._wake_all, on_notify=self._on_notify
            ),
            name="notifications",
        )
        try:
            async with asyncio.timeout(OPEN_TIMEOUT_S):
                await self._listening.wait()
        except BaseException as error:
            await self.close()
            if not isinstance(error, TimeoutError):
                raise
            raise DatabaseUnavailable(
                f"PostgreSQL did not answer within {OPEN_TIMEOUT_S:g} s: is it running,"
                " and is the database URL right?"
            ) from error

    async def close(self) -> None:
        """Stop listening; closing twice is harmless."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    @asynccontextmanager
    async def follow(self, *topics: str) -> AsyncIterator[Follower]:
        """Yield a follower of topics: enter first, then read the row, then wait."""
        follower = Follower()
        for topic in topics:
            self._followers[topic].add(follower)
        try:
            yield follower
        finally:
            for topic in topics:
                self._followers[topic].discard(follower)
                if not self._followers[topic]:
                    del self._followers[topic]

    async def _on_notify(self, notification: psycopg.Notify) -> None:
        self._wake(notification.payload)

    def _wake_all(self) -> None:
        self._listening.set()
        for topic in self._followers:
            self._wake(topic)

    def _wake(self, topic: str) -> None:
        for follower in self._followers.get(topic, ()):
            follower.wake(topic)


async def listen(
    conninfo: str,
    channels: Iterable[str],
    *,
    on_listening: Callable[[], None],
    on_notify: OnNotify,
) -> NoReturn:
    """Listen until cancelled, reconnecting forever.

    `on_listening` is called each time listening (re)starts: earlier notifications were lost.
    """
    conninfo = complete_conninfo(conninfo)
    names = [sql.SQL("LISTEN {}").format(sql.Identifier(channel)) for channel in channels]
    while True:
        try:
            with NoLostCancellation():
                async with await psycopg.AsyncConnection.connect(
                    conninfo, autocommit=True
                ) as connection:
                    for statement in names:
                        await connection.execute(statement)
                    on_listening()
                    await _receive(connection, on_notify)
        except psycopg.Error as error:
            log.warning("listen.connection_lost", error=str(error).strip())
        await asyncio.sleep(RECONNECT_PAUSE_S)


async def _receive(connection: psycopg.AsyncConnection, on_notify: OnNotify) -> NoReturn:
    while True:
        async for notification in connection.notifies(timeout=0):
            await on_notify(notification)
        # psycopg would wake up ten times a second.
        if not await _is_readable_within(PING_EVERY_S, connection.fileno()):
            # Silence may also mean that the connection is dead, so check it.
            await connection.execute("SELECT 1")


async def _is_readable_within(timeout_s: float, descriptor: int) -> bool:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        async with asyncio.timeout(timeout_s):
            return await readable.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
