"""Looks at what has changed and brings the runs on that it matters to.

Every control worker does so, woken by the database or after a while: nothing depends on a wake-up,
because changes stay until somebody has looked. Looking twice does no harm.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import structlog

from framekiln.db.notify import Follower, Notifications
from framekiln.db.pool import Database
from framekiln.kit.errors import Unavailable
from framekiln.kit.ids import FileId
from framekiln.pipelines.model.ids import BatchId, RunId
from framekiln.pipelines.owners.batches import Batches
from framekiln.pipelines.running.advance import Advance
from framekiln.pipelines.tables.change import store
from framekiln.pipelines.tables.change.store import CHANGES_TOPIC, Change
from framekiln.pipelines.tables.run import store as run_store

_TAKEN_AT_A_TIME: Final = 100
_AGAIN_AFTER: Final = timedelta(seconds=30)

log = structlog.get_logger(__name__)


class RunChanges:
    """What runs must be looked at for."""

    def __init__(
        self,
        database: Database,
        *,
        advance: Advance,
        batches: Batches,
        notifications: Notifications,
    ) -> None:
        self._database = database
        self._advance = advance
        self._batches = batches
        self._notifications = notifications

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[Follower]:
        """Be woken when something has changed."""
        async with self._notifications.follow(CHANGES_TOPIC) as follower:
            yield follower

    async def drain(self) -> int:
        """Look at all changes that nobody else looks at; return how many there were."""
        count = 0
        while taken := await self._drain_some():
            count += taken
        return count

    async def _drain_some(self) -> int:
        # Held all the while: if we die, they are there for the next one.
        async with self._database.transaction() as connection:
            taken = await store.take(connection, limit=_TAKEN_AT_A_TIME)
            followed = {each: await self._follow(each) for each in dict.fromkeys(taken.values())}
            done = [number for number, change in taken.items() if followed[change]]
            await store.delete(connection, done)
            if len(done) < len(taken):
                later = [number for number, change in taken.items() if not followed[change]]
                await store.postpone(connection, later, by=_AGAIN_AFTER)
        return len(taken)

    async def _follow(self, change: Change) -> bool:
        """Do what follows from a change; False when that must be tried again."""
        try:
            if change.kind == "batch":
                await self._batches.admit(BatchId(change.subject_id))
                return True
            for run_id in await self._runs_of(change):
                await self._advance.advance(run_id)
        except Unavailable:
            raise
        except Exception:
            # One run that cannot be brought on must not keep all others from it.
            log.exception("a change was not followed", kind=change.kind, id=str(change.subject_id))
            return False
        return True

    async def _runs_of(self, change: Change) -> list[RunId]:
        if change.kind == "run":
            return [RunId(change.subject_id)]
        async with self._database.connection() as connection:
            return await run_store.list_open(connection, FileId(change.subject_id))
