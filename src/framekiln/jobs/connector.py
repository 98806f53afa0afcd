"""Procrastinate's database connector, on our own pool and listening connection."""

from collections.abc import Iterable
from typing import Any, LiteralString

import psycopg
from procrastinate.connector import BaseAsyncConnector, Notify
from procrastinate.exceptions import NoResult
from psycopg.types.json import Jsonb

from framekiln.db.notify import listen
from framekiln.db.pool import Database


class PoolConnector(BaseAsyncConnector):
    """Runs Procrastinate's queries; a lost connection surfaces as `DatabaseUnavailable`."""

    def __init__(self, database: Database, conninfo: str) -> None:
        self._database = database
        self._conninfo = conninfo

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        """Run a query whose rows do not matter."""
        async with self._database.connection() as connection:
            await connection.execute(query, _adapted(arguments))

    async def execute_query_one_async(
        self, query: LiteralString, **arguments: Any
    ) -> dict[str, Any]:
        """Return the first row."""
        rows = await self.execute_query_all_async(query, **arguments)
        if not rows:
            raise NoResult
        return rows[0]

    async def execute_query_all_async(
        self, query: LiteralString, **arguments: Any
    ) -> list[dict[str, Any]]:
        """Return all rows."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(query, _adapted(arguments))
            return await cursor.fetchall()

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Listen until cancelled; polling finds what is missed while reconnecting."""

        async def pass_on(notification: psycopg.Notify) -> None:
            await on_notification(channel=notification.channel, payload=notification.payload)

        await listen(self._conninfo, channels, on_listening=lambda: None, on_notify=pass_on)


def _adapted(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: Jsonb(value) if isinstance(value, dict) else value
        for name, value in arguments.items()
    }
