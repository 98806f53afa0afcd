"""What owners do with bulks: create them, look at their rows, cancel them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from framekiln.db.pool import Connection, Database
from framekiln.identity.model import Caller
from framekiln.jobs.queue import JobQueue
from framekiln.kit.canonical_json import sha256_digest
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId
from framekiln.videos.bulks import store
from framekiln.videos.bulks.events import BulkEvents
from framekiln.videos.bulks.jobs import start_rows_job
from framekiln.videos.bulks.model import (
    MAX_RUNNING,
    Bulk,
    BulkRequest,
    BulkRow,
    BulkStatus,
    CountedBulk,
    NewBulk,
)
from framekiln.videos.bulks.row_check import RowWarning, require_valid_rows
from framekiln.videos.errors import (
    BulkKeyReused,
    BulkNotEnded,
    BulkNotFound,
    TooManyBulks,
    VideoNotFound,
)
from framekiln.videos.pagination import ListPage, PageNumberRequest
from framekiln.videos.public_ids import BulkId, TemplateId, VideoId, is_public_id, new_public_id
from framekiln.videos.service import Videos
from framekiln.videos.templates.service import Templates

_ROWS_AT_A_TIME: Final = 500

WriteWithBulk = Callable[[Connection, Bulk], Awaitable[None]]


@dataclass(frozen=True)
class CreatedBulk:
    """The bulk of a request, which may have been repeated, and the warnings about its rows."""

    counted: CountedBulk
    is_new: bool
    warnings: tuple[RowWarning, ...]


class Bulks:
    """The bulks of all organizations, for their owners."""

    def __init__(
        self,
        database: Database,
        *,
        templates: Templates,
        videos: Videos,
        jobs: JobQueue,
        events: BulkEvents,
        clock: Clock,
    ) -> None:
        self._database = database
        self._templates = templates
        self._videos = videos
        self._jobs = jobs
        self._events = events
        self._clock = clock

    async def create(
        self,
        caller: Caller,
        template_id: str,
        request: BulkRequest,
        *,
        also_write: WriteWithBulk | None = None,
    ) -> CreatedBulk:
        """Validate all rows, then store them.

        Nothing is stored if any row is wrong. `also_write` runs in the same transaction.
        """
        organization_id = caller.organization.id
        template = await self._templates.get_version(organization_id, template_id, request.version)
        digest = await asyncio.to_thread(_request_digest, template.id, request)
        # Before the check of the rows: a repeated request is answered at once.
        async with self._database.connection() as connection:
            first = await self._find_repeated(connection, caller, request.idempotency_key, digest)
        warnings: tuple[RowWarning, ...] = ()
        if first is None:
            warnings = await require_valid_rows(template, request.rows)
            new = NewBulk(
                template.id, template.version, request.rows, digest, request.idempotency_key
            )
            first, is_new = await self._insert(caller, new, also_write)
        else:
            is_new = False
        return CreatedBulk(await self.get(organization_id, first.id), is_new, warnings)

    async def get(self, organization_id: OrganizationId, bulk_id: str) -> CountedBulk:
        """Return a bulk of the organization, with the number of its rows by status."""
        async with self._database.connection() as connection:
            bulk = await self._find(connection, organization_id, bulk_id)
            return CountedBulk(bulk, await store.count_rows(connection, bulk.id))

    async def list(
        self, organization_id: OrganizationId, page_request: PageNumberRequest
    ) -> ListPage[CountedBulk]:
        """Return a page of the organization's bulks, newest first."""
        async with self._database.connection() as connection:
            total = await store.count(connection, organization_id)
            bulks = await store.list_page(connection, organization_id, page_request)
        return ListPage(bulks, page_request, total)

    async def rows(
        self, organization_id: OrganizationId, bulk_id: str, page_request: PageNumberRequest
    ) -> ListPage[BulkRow]:
        """Return a page of the rows, in order."""
        async with self._database.connection() as connection:
            bulk = await self._find(connection, organization_id, bulk_id)
            # Rows have numbers without gaps.
            rows = await store.list_rows(
                connection, bulk.id, after=page_request.offset, limit=page_request.per_page
            )
        return ListPage(rows, page_request, bulk.row_count)

    async def all_rows(self, bulk: Bulk) -> AsyncIterator[BulkRow]:
        """Yield all rows, in order."""
        number = 0
        while number < bulk.row_count:
            async with self._database.connection() as connection:
                rows = await store.list_rows(
                    connection, bulk.id, after=number, limit=_ROWS_AT_A_TIME
                )
            if not rows:
                return
            for row in rows:
                yield row
            number = rows[-1].number

    async def get_ended(self, organization_id: OrganizationId, bulk_id: str) -> Bulk:
        """Return a bulk that has ended, or raise `BulkNotEnded`."""
        async with self._database.connection() as connection:
            bulk = await self._find(connection, organization_id, bulk_id)
        if bulk.status is BulkStatus.RUNNING:
            raise BulkNotEnded(
                f"bulk {bulk.id} is still running: wait for it, cancel it, or download single"
                " videos"
            )
        return bulk

    async def cancel(self, organization_id: OrganizationId, bulk_id: str) -> CountedBulk:
        """Start no more rows and stop those under way; finished videos are kept."""
        async with self._database.transaction() as connection:
            bulk = await self._find(connection, organization_id, bulk_id)
            cancelled = await store.cancel(connection, bulk.id, now=self._clock.now())
            if cancelled is not None:
                await self._events.record(connection, cancelled.bulk)
        under_way = () if cancelled is None else cancelled.under_way
        for video_id in under_way:
            await self._stop(organization_id, video_id)
        return await self.get(organization_id, bulk.id)

    async def queue_running(self) -> None:
        """Queue the job of every running bulk, should one have been lost."""
        async with self._database.transaction() as connection:
            for bulk in await store.list_running(connection):
                await self._jobs.defer(connection, start_rows_job(bulk.id, bulk.organization_id))

    async def _insert(
        self, caller: Caller, new: NewBulk, also_write: WriteWithBulk | None
    ) -> tuple[Bulk, bool]:
        organization_id = caller.organization.id
        async with self._database.transaction() as connection:
            await store.lock_organization(connection, organization_id)
            first = await self._find_repeated(
                connection, caller, new.idempotency_key, new.request_digest
            )
            if first is not None:
                return first, False
            if await store.count_running(connection, organization_id) >= MAX_RUNNING:
                raise TooManyBulks(
                    f"{MAX_RUNNING} bulks are running, which is the most: wait for one to end",
                    limit=MAX_RUNNING,
                )
            bulk = None
            while bulk is None:
                bulk_id = BulkId(new_public_id())
                now = self._clock.now()
                bulk = await store.insert(connection, bulk_id, new, caller=caller, now=now)
            if also_write is not None:
                await also_write(connection, bulk)
            await self._jobs.defer(connection, start_rows_job(bulk.id, organization_id))
            await self._events.record(connection, bulk)
        return bulk, True

    async def _find_repeated(
        self, connection: Connection, caller: Caller, key: str | None, digest: str
    ) -> Bulk | None:
        if key is None:
            return None
        bulk = await store.find_by_key(connection, caller.organization.id, key)
        if bulk is not None and bulk.request_digest != digest:
            raise BulkKeyReused(
                f"the Idempotency-Key {key!r} was used with other rows or another template;"
                " use a new one"
            )
        return bulk

    async def _find(
        self, connection: Connection, organization_id: OrganizationId, bulk_id: str
    ) -> Bulk:
        if is_public_id(bulk_id):
            bulk = await store.find(connection, organization_id, BulkId(bulk_id))
            if bulk is not None:
                return bulk
        raise BulkNotFound(f"there is no bulk {bulk_id[:50]!r}")

    async def _stop(self, organization_id: OrganizationId, video_id: VideoId) -> None:
        try:
            video = await self._videos.get(organization_id, video_id)
            if not video.is_ready:
                await self._videos.delete(organization_id, video_id)
        except VideoNotFound:
            # Its owner was faster.
            return


def _request_digest(template_id: TemplateId, request: BulkRequest) -> str:
    identity: dict[str, Any] = {
        "template": template_id,
        "version": request.version,
        "rows": list(request.rows),
    }
    if request.destinations is not None:
        identity["destinations"] = list(request.destinations)
    return sha256_digest(identity)
