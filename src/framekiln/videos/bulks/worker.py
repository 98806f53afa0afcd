"""What workers do with bulks: start the next rows, and record how rows have ended.

Only a few rows of a bulk are under way at a time. Each render that ends queues the job that starts
the next ones, in the same transaction. A row gets its video in the transaction that creates the
video, so that a worker may die at any moment: no row is lost and none is rendered twice.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import structlog

from framekiln.db.pool import Connection, Database
from framekiln.identity.model import Caller
from framekiln.identity.service import Identity
from framekiln.jobs.failures import Failure
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.errors import Blame, FramekilnError
from framekiln.kit.ids import OrganizationId
from framekiln.quotas.model import QuotaExceeded
from framekiln.renders.model import Render, RenderStatus
from framekiln.videos.bulks import store
from framekiln.videos.bulks.events import BulkEvents
from framekiln.videos.bulks.jobs import start_rows_job
from framekiln.videos.bulks.model import ROWS_UNDER_WAY, Bulk, BulkRow, BulkStatus, RowStatus
from framekiln.videos.model import Video
from framekiln.videos.public_ids import BulkId
from framekiln.videos.templates.service import Templates

log = structlog.get_logger(__name__)

IsFinal = Callable[[FramekilnError], bool]
OnRowStarted = Callable[[Connection, Bulk, Video], Awaitable[None]]
"""Called in the transaction that creates the video of a row."""

_ENDINGS: Final = {
    RenderStatus.COMPLETE: RowStatus.READY,
    RenderStatus.FAILED: RowStatus.FAILED,
}
_DELETED: Final = Failure("cancelled", "its video was deleted before it was made")
_BUSY_FOR: Final = timedelta(seconds=1)
_OVER_QUOTA_FOR: Final = timedelta(seconds=30)


class _RowNotWaiting(Exception):
    """The row was cancelled meanwhile; undoes the transaction that creates its video."""


class BulkWorker:
    """The bulks of all organizations, for workers."""

    def __init__(  # noqa: PLR0913 - each is a part of the application
        self,
        database: Database,
        *,
        templates: Templates,
        identity: Identity,
        jobs: JobQueue,
        events: BulkEvents,
        clock: Clock,
        on_row_started: OnRowStarted,
    ) -> None:
        self._database = database
        self._templates = templates
        self._identity = identity
        self._jobs = jobs
        self._events = events
        self._clock = clock
        self._on_row_started = on_row_started

    async def start_rows(
        self, organization_id: OrganizationId, bulk_id: BulkId, *, is_final: IsFinal
    ) -> None:
        """Start as many rows as may be under way; `is_final` says whether an error stays."""
        async with self._database.transaction() as guard:
            if not await store.try_lock(guard, bulk_id):
                await self._queue_again(guard, organization_id, bulk_id, after=_BUSY_FOR)
                return
            bulk = await store.find(guard, organization_id, bulk_id)
            if bulk is None or bulk.status is not BulkStatus.RUNNING:
                return
            rows = await self._next_rows(bulk)
            try:
                for row in rows:
                    await self._start(bulk, row, is_final)
            except QuotaExceeded as error:
                log.info("bulk.over_quota", bulk_id=bulk.id, reason=error.message)
                await self._queue_again(guard, organization_id, bulk_id, after=_OVER_QUOTA_FOR)
                return
            if not await self._complete(bulk) and await self._has_room(bulk):
                await self._queue_again(guard, organization_id, bulk_id)

    async def _next_rows(self, bulk: Bulk) -> list[BulkRow]:
        async with self._database.transaction() as connection:
            if await store.fail_deleted_rows(connection, bulk.id, _DELETED):
                await store.announce_change(connection, bulk.organization_id)
            counts = await store.count_rows(connection, bulk.id)
            free = max(0, ROWS_UNDER_WAY - counts[RowStatus.PROCESSING])
            waiting = await store.list_with_status(
                connection, bulk.id, RowStatus.WAITING, limit=free
            )
        return list(waiting)

    async def _start(self, bulk: Bulk, row: BulkRow, is_final: IsFinal) -> None:
        async def take_row(connection: Connection, video: Video) -> None:
            status = _ENDINGS.get(video.render.status, RowStatus.PROCESSING)
            is_taken = await store.start_row(
                connection, bulk.id, row.number, video_id=video.id, status=status
            )
            if not is_taken:
                raise _RowNotWaiting
            await store.announce_change(connection, bulk.organization_id)
            await self._on_row_started(connection, bulk, video)

        try:
            await self._templates.render(
                await self._owner(bulk),
                bulk.template_id,
                row.data,
                version=bulk.template_version,
                also_write=take_row,
            )
        except _RowNotWaiting:
            return
        except QuotaExceeded:
            raise
        except FramekilnError as error:
            if error.blame is Blame.US and not is_final(error):
                raise
            failure = Failure(error.code, error.message)
            async with self._database.transaction() as connection:
                await store.fail_row(connection, bulk.id, row.number, failure)
                await store.announce_change(connection, bulk.organization_id)

    async def _owner(self, bulk: Bulk) -> Caller:
        """Return who created the bulk; a key that was revoked starts no more rows."""
        if bulk.api_key_id is not None:
            return await self._identity.find_caller(bulk.api_key_id)
        return await self._identity.find_owner(bulk.organization_id)

    async def _complete(self, bulk: Bulk) -> bool:
        async with self._database.transaction() as connection:
            completed = await store.complete(connection, bulk.id, now=self._clock.now())
            if completed is not None:
                await self._events.record(connection, completed)
        if completed is not None:
            log.info("bulk.completed", bulk_id=bulk.id, rows=bulk.row_count)
        return completed is not None

    async def _has_room(self, bulk: Bulk) -> bool:
        async with self._database.connection() as connection:
            counts = await store.count_rows(connection, bulk.id)
        return counts[RowStatus.WAITING] > 0 and counts[RowStatus.PROCESSING] < ROWS_UNDER_WAY

    async def _queue_again(
        self,
        connection: Connection,
        organization_id: OrganizationId,
        bulk_id: BulkId,
        *,
        after: timedelta | None = None,
    ) -> None:
        run_at = None if after is None else self._clock.now() + after
        await self._jobs.defer(connection, start_rows_job(bulk_id, organization_id, run_at=run_at))

    async def on_render_changed(self, connection: Connection, render: Render) -> None:
        """Record the end of the rows that use a render, and start others in their place."""
        status = _ENDINGS.get(render.status)
        if status is None:
            return
        ended = await store.end_rows_of_render(connection, render.id, status, render.failure)
        if ended:
            await store.announce_change(connection, render.organization_id)
        for bulk_id in ended:
            await self._queue_again(connection, render.organization_id, bulk_id)
