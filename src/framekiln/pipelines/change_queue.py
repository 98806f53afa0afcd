"""The queue of changes: each advances the runs that it affects.

Every control worker processes it, on a notification or a timer. Nothing depends on a notification,
because changes stay until they are processed. Processing one twice is harmless.
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
from framekiln.pipelines.execution.coordinator import RunCoordinator
from framekiln.pipelines.model.pipeline import BatchId, RunId
from framekiln.pipelines.services.batches import Batches
from framekiln.pipelines.stores import change as change_store
from framekiln.pipelines.stores import run as run_store
from framekiln.pipelines.stores.change import CHANGES_TOPIC, Change

_BATCH_SIZE: Final = 100
_RETRY_AFTER: Final = timedelta(seconds=30)

log = structlog.get_logger(__name__)


class ChangeQueue:
    """Processes changes of files, runs and batches."""

    def __init__(
        self,
        database: Database,
        *,
        coordinator: RunCoordinator,
        batches: Batches,
        notifications: Notifications,
    ) -> None:
        self._database = database
        self._coordinator = coordinator
        self._batches = batches
        self._notifications = notifications

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[Follower]:
        """Follow the notifications of new changes."""
        async with self._notifications.follow(CHANGES_TOPIC) as follower:
            yield follower

    async def process(self) -> int:
        """Process all changes that no other worker processes; return how many."""
        count = 0
        while taken := await self._process_some():
            count += taken
        return count

    async def _process_some(self) -> int:
        # One transaction: if this worker dies, the changes stay for the next.
        async with self._database.transaction() as connection:
            taken = await change_store.take(connection, limit=_BATCH_SIZE)
            succeeded = {
                each: await self._process_one(each) for each in dict.fromkeys(taken.values())
            }
            done = [number for number, change in taken.items() if succeeded[change]]
            await change_store.delete(connection, done)
            if len(done) < len(taken):
                later = [number for number, change in taken.items() if not succeeded[change]]
                await change_store.postpone(connection, later, by=_RETRY_AFTER)
        return len(taken)

    async def _process_one(self, change: Change) -> bool:
        """Advance what a change affects; False if it must be retried."""
        try:
            if change.kind == "batch":
                await self._batches.admit_runs(BatchId(change.subject_id))
                return True
            for run_id in await self._runs_of(change):
                await self._coordinator.advance(run_id)
        except Unavailable:
            raise
        except Exception:
            # A run that cannot be advanced must not block the others.
            log.exception("pipelines.change_failed", kind=change.kind, id=str(change.subject_id))
            return False
        return True

    async def _runs_of(self, change: Change) -> list[RunId]:
        if change.kind == "run":
            return [RunId(change.subject_id)]
        async with self._database.connection() as connection:
            return await run_store.list_unfinished(connection, FileId(change.subject_id))
