"""What owners do with renders. Every state change is one transaction."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from framekiln.audit.log import record
from framekiln.db.newest_rows import NewestPage
from framekiln.db.notify import Follower, Notifications, notify
from framekiln.db.pool import Connection, Database
from framekiln.identity.model import Caller
from framekiln.jobs.queue import JobQueue
from framekiln.kit.canonical_json import canonical_json
from framekiln.kit.clock import Clock
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.quotas.model import Quota
from framekiln.quotas.service import Quotas
from framekiln.renders import slice_store, store
from framekiln.renders.errors import (
    RenderIsActive,
    RenderNotComplete,
    RenderNotFound,
    RenderOfVideo,
)
from framekiln.renders.events import RenderEvents
from framekiln.renders.jobs import film_job, redact_job
from framekiln.renders.model import (
    CANCELLED,
    FinishedSlice,
    FrameCounts,
    Redaction,
    Render,
    RenderProgress,
    RenderRequest,
    RenderStatus,
    SourceKind,
    composition_keys,
    progress_topic,
    redaction_key,
    render_prefix,
)
from framekiln.renders.output import FilmFormat, OutputFormat
from framekiln.renders.reserved_ids import ReservedRenderIds
from framekiln.renders.slice_state import RenderSlice
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.deletions import BlobDeletions
from framekiln.storage.new_blobs import NewBlobs

WriteWithRender = Callable[[Connection, Render], Awaitable[None]]

_DELETED_AT_A_TIME: Final = 100
_LIMITING_STILLS: Final = (Quota.QUEUED_JOBS, Quota.STORED_BYTES)
_LIMITING_FILMS: Final = (*_LIMITING_STILLS, Quota.RENDER_MINUTES)
# Workers notice within a second; the rest is for one that hangs or has lost the database.
_NOTICED_WITHIN: Final = timedelta(minutes=10)


class Renders:
    """What owners do with the renders of all organizations."""

    def __init__(  # noqa: PLR0913 - each is a part of the application
        self,
        database: Database,
        *,
        jobs: JobQueue,
        blobs: BlobStore,
        notifications: Notifications,
        clock: Clock,
        events: RenderEvents,
        quotas: Quotas,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._blobs = blobs
        self._notifications = notifications
        self._clock = clock
        self._events = events
        self._quotas = quotas
        self._deletions = BlobDeletions(database, blobs, clock)
        self._new_blobs = NewBlobs(database, blobs, clock)
        self._ids = ReservedRenderIds(self._new_blobs, clock)

    async def create(
        self,
        caller: Caller,
        new: RenderRequest,
        source: bytes | None,
        *,
        data: str | None = None,
        also_write: WriteWithRender | None = None,
    ) -> Render:
        """Store the composition, the render and its job: all of them, or nothing.

        Without a `source`, the render waits for its bundle. `data` is the page's render data.
        `also_write` runs in the same transaction.
        """
        render_id = await self._ids.take(caller.organization.id)
        key, data_at = composition_keys(
            caller.organization.id, render_id, new, has_data=data is not None
        )
        contents = {key: source, data_at: None if data is None else data.encode()}
        async with self._new_blobs.recording(_folder_of(caller.organization.id, render_id)):
            for to_key, content in contents.items():
                if to_key is not None and content is not None:
                    await self._blobs.put(to_key, content)
            return await self._insert(
                caller,
                new,
                render_id=render_id,
                has_composition=source is not None,
                has_data=data is not None,
                also_write=also_write,
            )

    async def repeat(self, caller: Caller, original: Render) -> Render:
        """Create a render with the composition and the settings of another; it lives as long.

        Copies of the output at destinations are not asked for again.
        """
        asked = original.request
        if asked.source_kind not in (SourceKind.HTML, SourceKind.BUNDLE):
            raise RenderNotFound(
                f"render {original.id} was made for a video or a pipeline: create that again"
            )
        if await self._blobs.info(original.source_key) is None:
            raise RenderNotComplete(
                f"render {original.id} has no composition yet", status=original.status
            )
        if asked.expires_at is not None:
            lifetime = asked.expires_at - original.created_at
            asked = replace(asked, expires_at=self._clock.now() + lifetime)
        render_id = await self._ids.take(caller.organization.id)
        has_data = original.data_key is not None
        key, data_at = composition_keys(caller.organization.id, render_id, asked, has_data=has_data)
        async with self._new_blobs.recording(_folder_of(caller.organization.id, render_id)):
            for from_key, to_key in ((original.source_key, key), (original.data_key, data_at)):
                if from_key is not None and to_key is not None:
                    await self._blobs.copy(from_key, to_key)
            return await self._insert(
                caller, asked, render_id=render_id, has_composition=True, has_data=has_data
            )

    async def _insert(
        self,
        caller: Caller,
        new: RenderRequest,
        *,
        render_id: RenderId,
        has_composition: bool,
        has_data: bool,
        also_write: WriteWithRender | None = None,
    ) -> Render:
        """Insert a render whose blobs are stored, and queue its job, in one transaction."""
        organization_id, api_key_id = caller.organization.id, caller.api_key_id
        key, data_at = composition_keys(organization_id, render_id, new, has_data=has_data)
        limits = _LIMITING_FILMS if isinstance(new.output, FilmFormat) else _LIMITING_STILLS
        insert = partial(
            store.insert,
            render_id=render_id,
            request=new,
            organization_id=organization_id,
            api_key_id=api_key_id,
            source_key=key,
            data_key=data_at,
            job=film_job(organization_id, render_id) if has_composition else None,
            now=self._clock.now(),
        )
        if also_write is None:
            # Most renders take one statement, which is a transaction by itself.
            conditions = [
                self._quotas.allowing(organization_id, *limits),
                self._events.not_awaited(organization_id, api_key_id),
            ]
            async with self._database.connection() as connection:
                render = await insert(connection, conditions=conditions)
            if render is not None:
                return render
        async with self._database.transaction() as connection:
            await self._quotas.check(connection, organization_id, *limits)
            render = await insert(connection)
            assert render is not None, "its id is new"
            if also_write is not None:
                await also_write(connection, render)
            await self._events.record(connection, render)
        return render

    async def create_from_layers(
        self,
        caller: Caller,
        config: Mapping[str, Any],
        *,
        digest: str,
        output: OutputFormat,
        also_write: WriteWithRender | None = None,
    ) -> Render:
        """Create a render of a layer config in its normal form."""
        still_ms = None if isinstance(output, FilmFormat) else round(config.get("time", 0) * 1000)
        new = RenderRequest(
            SourceKind.LAYERS, source_digest=digest, duration_ms=still_ms, output=output
        )
        return await self.create(caller, new, canonical_json(config), also_write=also_write)

    async def create_redaction(
        self,
        organization_id: OrganizationId,
        redaction: Redaction,
        *,
        render_id: RenderId,
        api_key_id: ApiKeyId | None,
        duration_ms: int,
    ) -> Render:
        """Create a render that redacts a file; with an id that exists, return that render.

        A new one uses render minutes at once: there is no plan, and its length is that of the file.
        """
        new = RenderRequest(SourceKind.REDACTION)
        # Not under a fixed key: that one may be recorded already.
        key = redaction_key(organization_id, render_id)
        await self._new_blobs.put(key, canonical_json(redaction.to_json()))
        async with (
            self._new_blobs.recording(key),
            self._database.transaction() as connection,
        ):
            render = await store.insert(
                connection,
                render_id,
                new,
                organization_id=organization_id,
                api_key_id=api_key_id,
                source_key=key,
                job=redact_job(organization_id, render_id),
                now=self._clock.now(),
            )
            if render is not None:
                # After the insertion: one that exists was counted, and may be the last allowed.
                await self._quotas.check(connection, organization_id, Quota.RENDER_MINUTES)
                await self._quotas.record_film(connection, organization_id, duration_ms)
                await self._events.record(connection, render)
        if render is None:
            await self._new_blobs.discard(key)
        return render or await self.get(organization_id, render_id)

    async def discard(self, connection: Connection, render: Render) -> bool:
        """Delete a render that is no longer wanted, in the caller's transaction.

        True when its blobs may be deleted after the transaction (`delete_blobs`). A render that
        has not ended is cancelled, and expires once its workers must have noticed.
        """
        current = await store.lock(connection, render.id)
        if current is None or current.status.is_terminal:
            await self._delete_row(connection, render)
            return True
        now = self._clock.now()
        await store.fail(connection, render.id, CANCELLED, now=now)
        await store.set_expiry(connection, render.id, expires_at=now + _NOTICED_WITHIN)
        await notify(connection, progress_topic(render.id))
        return False

    async def delete_blobs(self, render: Render) -> None:
        """Delete all blobs of a render whose row is gone."""
        await self._deletions.run(_blobs_of(render))

    async def _delete_row(self, connection: Connection, render: Render) -> None:
        await store.delete(connection, render.id)
        await self._deletions.add(connection, _blobs_of(render))
        # Its followers read it again, and learn that it is gone.
        await notify(connection, progress_topic(render.id))

    async def slices(self, render_id: RenderId) -> list[RenderSlice]:
        """Return all slices with their progress, in order."""
        async with self._database.connection() as connection:
            return await slice_store.list_all(connection, render_id)

    async def finished_slices(self, render_id: RenderId) -> list[FinishedSlice]:
        """Return the finished slices, in order."""
        async with self._database.connection() as connection:
            return await slice_store.list_finished(connection, render_id)

    async def page(
        self, organization_id: OrganizationId, page: NewestPage, *, status: RenderStatus | None
    ) -> list[Render]:
        """Return renders, newest first; those of videos are left out."""
        async with self._database.connection() as connection:
            return await store.list_newest(connection, organization_id, page, status=status)

    async def find_by_md5(self, organization_id: OrganizationId, md5: str) -> Render:
        """Return the newest render with that MD5."""
        async with self._database.connection() as connection:
            render = await store.find_by_md5(connection, organization_id, md5)
        if render is None:
            raise RenderNotFound(f"there is no render with md5 {md5[:64]}")
        return render

    async def delete(self, organization_id: OrganizationId, render_id: RenderId) -> None:
        """Delete a render and all its blobs."""
        render = await self.get(organization_id, render_id)
        async with self._database.transaction() as connection:
            current = await store.lock(connection, render_id)
            if current is None:
                raise _no_render(render_id)
            if current.request.source_kind is SourceKind.LAYERS:
                raise RenderOfVideo(f"render {render_id} is that of a video: delete the video")
            if current.status.is_active:
                raise RenderIsActive(
                    f"render {render_id} is {current.status}; it can be deleted when it has ended",
                    status=current.status,
                )
            await self._delete_row(connection, render)
            await record(
                connection,
                organization_id,
                "render.deleted",
                resource=render_id,
                now=self._clock.now(),
            )
        await self.delete_blobs(render)

    async def remove_expired(self) -> int:
        """Delete expired renders that are not active; return how many."""
        async with self._database.transaction() as connection:
            expired = await store.delete_expired(
                connection, now=self._clock.now(), limit=_DELETED_AT_A_TIME
            )
            paths = [_blobs_of(render) for render in expired]
            await self._deletions.add(connection, *paths)
        await self._deletions.run(*paths)
        return len(expired)

    async def get(self, organization_id: OrganizationId, render_id: RenderId) -> Render:
        """Return a render of the organization."""
        async with self._database.connection() as connection:
            render = await store.find(connection, organization_id, render_id)
        if render is None:
            raise _no_render(render_id)
        return render

    async def frame_counts(self) -> FrameCounts:
        """Return how the frames of the films of the last day were made."""
        since = self._clock.now() - timedelta(days=1)
        async with self._database.connection() as connection:
            return await slice_store.count_frames(connection, since=since)

    async def progress(self, render_id: RenderId) -> RenderProgress:
        """Return the progress of a render."""
        async with self._database.connection() as connection:
            found = await store.find_progress(connection, [render_id])
        if render_id not in found:
            raise _no_render(render_id)
        return found[render_id]

    @asynccontextmanager
    async def follow(self, render_id: RenderId) -> AsyncIterator[Follower]:
        """Follow the progress of a render."""
        async with self._notifications.follow(progress_topic(render_id)) as follower:
            yield follower


def _blobs_of(render: Render) -> str:
    return _folder_of(render.organization_id, render.id)


def _folder_of(organization_id: OrganizationId, render_id: RenderId) -> str:
    return f"{render_prefix(organization_id, render_id)}/"


def _no_render(render_id: RenderId) -> RenderNotFound:
    return RenderNotFound(f"there is no render {render_id}")
