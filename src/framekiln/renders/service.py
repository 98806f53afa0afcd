"""What can be done with renders. Every state change of a render is one transaction here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from framekiln.db.notify import Follower, Notifications, notify
from framekiln.db.pool import Connection, Database
from framekiln.identity.model import Caller
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId, new_uuid
from framekiln.renders import slice_store, store
from framekiln.renders.bundle import check_bundle
from framekiln.renders.events import RenderEvents
from framekiln.renders.jobs import film_job, redact_job
from framekiln.renders.model import (
    CANCELLED,
    FinishedSlice,
    NewRender,
    Redaction,
    Render,
    RenderHasComposition,
    RenderIsActive,
    RenderNotFound,
    RenderOptions,
    RenderProgress,
    RenderResult,
    RenderStatus,
    SourceKind,
    data_key,
    layers_key,
    output_key,
    progress_topic,
    redaction_key,
    render_prefix,
    source_key,
)
from framekiln.renders.output import MP4, FilmFormat, OutputFormat, container_of
from framekiln.renders.uploaded_output import BadFilm, probe_film
from framekiln.storage.blob_store import BlobStore, delete_unless_recorded

WriteWithRender = Callable[[Connection, Render], Awaitable[None]]

_REMOVED_AT_A_TIME: Final = 100
# A worker at a slice of a render that is over learns of it when the slice is done.
_NOTICED_WITHIN: Final = timedelta(minutes=10)


class Renders:
    """The renders of all organizations, as their owners see them."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        blobs: BlobStore,
        notifications: Notifications,
        clock: Clock,
        events: RenderEvents,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._blobs = blobs
        self._notifications = notifications
        self._clock = clock
        self._events = events

    async def create(
        self, caller: Caller, new: NewRender, *, also_write: WriteWithRender | None = None
    ) -> Render:
        """Store the composition, the render and its job: all of them, or nothing.

        `beside` writes what belongs to the render, in the same transaction.
        """
        organization_id = caller.organization.id
        render_id = RenderId(new_uuid())
        key = _source_key(organization_id, render_id, new.source_kind)
        source = new.source
        data_at = None if new.data is None else data_key(organization_id, render_id)
        async with AsyncExitStack() as stack:
            if source is not None:
                await self._put_until_recorded(stack, key, source)
            if data_at is not None and new.data is not None:
                await self._put_until_recorded(stack, data_at, new.data.encode())
            connection = await stack.enter_async_context(self._database.transaction())
            render = await store.insert(
                connection,
                render_id,
                new,
                organization_id=organization_id,
                api_key_id=caller.api_key_id,
                source_key=key,
                data_key=data_at,
                now=self._clock.now(),
            )
            assert render is not None, "its id is new"
            if also_write is not None:
                await also_write(connection, render)
            if source is not None:
                await self._jobs.defer(connection, film_job(render))
            await self._events.record(connection, render)
        return render

    async def _put_until_recorded(self, stack: AsyncExitStack, key: str, content: bytes) -> None:
        """Store a blob, for as long as what comes after it in the stack succeeds."""
        await self._blobs.put(key, content)
        await stack.enter_async_context(delete_unless_recorded(self._blobs, key))

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
        new = NewRender(
            html=None,
            options=RenderOptions(duration_ms=still_ms),
            layers=config,
            source_digest=digest,
            output=output,
        )
        return await self.create(caller, new, also_write=also_write)

    async def create_redaction(
        self,
        organization_id: OrganizationId,
        redaction: Redaction,
        *,
        render_id: RenderId,
        api_key_id: ApiKeyId | None,
    ) -> Render:
        """Create a render that redacts a file; with the same id again, return what there is."""
        new = NewRender(html=None, options=RenderOptions(), redaction=redaction.to_json())
        key = redaction_key(organization_id, render_id)
        await self._blobs.put(key, new.source or b"")
        async with self._database.transaction() as connection:
            render = await store.insert(
                connection,
                render_id,
                new,
                organization_id=organization_id,
                api_key_id=api_key_id,
                source_key=key,
                now=self._clock.now(),
            )
            if render is not None:
                await self._jobs.defer(connection, redact_job(render))
                await self._events.record(connection, render)
        return render or await self.get(organization_id, render_id)

    async def discard(self, connection: Connection, render: Render) -> bool:
        """Forget a render that nobody wants any more, in its owner's transaction.

        True when its blobs may be deleted at once (`clear`, after the transaction). One that is
        still worked on is ended, and removed when its workers must have noticed.
        """
        current = await store.lock(connection, render.id)
        if current is None or current.status.is_terminal:
            await store.delete(connection, render.id)
            return True
        now = self._clock.now()
        await store.fail(connection, render.id, CANCELLED, now=now)
        await store.set_expiry(connection, render.id, expires_at=now + _NOTICED_WITHIN)
        await notify(connection, progress_topic(render.id))
        return False

    async def delete_blobs(self, render: Render) -> None:
        """Delete everything that was kept for a render."""
        await self._blobs.delete_prefix(render_prefix(render.organization_id, render.id))

    async def finished_slices(self, render_id: RenderId) -> list[FinishedSlice]:
        """Return the slices that are finished so far, in the order of the film."""
        async with self._database.connection() as connection:
            return await slice_store.list_finished(connection, render_id)

    async def accept_bundle(
        self, organization_id: OrganizationId, render_id: RenderId, archive: Path
    ) -> Render:
        """Keep the uploaded bundle of a render, and begin."""
        _check_awaits_bundle(await self.get(organization_id, render_id))
        await asyncio.to_thread(check_bundle, archive)
        async with self._database.transaction() as connection:
            # Under the lock: of two uploads at once, the second must not replace what is filmed.
            render = await store.lock(connection, render_id)
            if render is None:
                raise _no_render(render_id)
            _check_awaits_bundle(render)
            await self._blobs.put_file(render.source_key, archive)
            await store.set_queued(connection, render_id)
            await self._jobs.defer(connection, film_job(render))
            await notify(connection, progress_topic(render_id))
            queued = replace(render, status=RenderStatus.QUEUED)
            await self._events.record(connection, queued, before=render.status)
        return await self.get(organization_id, render_id)

    async def accept_output(
        self, organization_id: OrganizationId, render_id: RenderId, film: Path
    ) -> Render:
        """Keep an uploaded film as the output of a render that waits for its bundle."""
        render = await self.get(organization_id, render_id)
        _check_awaits_bundle(render)
        if render.output != MP4:
            container = container_of(render.output)
            raise BadFilm(f"render {render_id} is a {container}: a film cannot be its output")
        facts = await probe_film(film)
        made = RenderResult(
            **vars(facts),
            output_key=output_key(render, attempt=0),
            byte_size=(await asyncio.to_thread(film.stat)).st_size,
            record={"uploaded": True},
        )
        async with self._database.transaction() as connection:
            # Under the lock, as a bundle is: of two uploads at once only one is kept.
            current = await store.lock(connection, render_id)
            if current is None:
                raise _no_render(render_id)
            _check_awaits_bundle(current)
            await self._blobs.put_file(made.output_key, film)
            await store.complete(connection, render_id, made, now=self._clock.now())
            await notify(connection, progress_topic(render_id))
            complete = await store.find_by_id(connection, render_id)
            assert complete is not None
            await self._events.record(connection, complete, before=current.status)
        return complete

    async def find_by_md5(self, organization_id: OrganizationId, md5: str) -> Render:
        """Return the newest render with that sum."""
        async with self._database.connection() as connection:
            render = await store.find_by_md5(connection, organization_id, md5)
        if render is None:
            raise RenderNotFound(f"there is no render with md5 {md5[:64]}")
        return render

    async def delete(self, organization_id: OrganizationId, render_id: RenderId) -> None:
        """Remove a render, its output and all that was kept for it."""
        render = await self.get(organization_id, render_id)
        async with self._database.transaction() as connection:
            current = await store.lock(connection, render_id)
            if current is not None and current.status.is_active:
                raise RenderIsActive(
                    f"render {render_id} is {current.status}; it can be deleted when it has ended",
                    status=current.status,
                )
            await store.delete(connection, render_id)
        await self.delete_blobs(render)

    async def remove_expired(self) -> int:
        """Remove what has expired and is not being worked on; return how many renders went."""
        async with self._database.transaction() as connection:
            expired = await store.delete_expired(
                connection, now=self._clock.now(), limit=_REMOVED_AT_A_TIME
            )
        for render in expired:
            await self.delete_blobs(render)
        return len(expired)

    async def get(self, organization_id: OrganizationId, render_id: RenderId) -> Render:
        """Return a render of the organization."""
        async with self._database.connection() as connection:
            render = await store.find(connection, organization_id, render_id)
        if render is None:
            raise _no_render(render_id)
        return render

    async def progress(self, render_id: RenderId) -> RenderProgress:
        """Return how far a render is."""
        async with self._database.connection() as connection:
            progress = await store.find_progress(connection, render_id)
        if progress is None:
            raise _no_render(render_id)
        return progress

    @asynccontextmanager
    async def follow(self, render_id: RenderId) -> AsyncIterator[Follower]:
        """Be woken whenever a render's progress changes."""
        async with self._notifications.follow(progress_topic(render_id)) as follower:
            yield follower


def _source_key(organization_id: OrganizationId, render_id: RenderId, kind: SourceKind) -> str:
    if kind is SourceKind.LAYERS:
        return layers_key(organization_id, render_id)
    return source_key(organization_id, render_id, is_bundle=kind is SourceKind.BUNDLE)


def _check_awaits_bundle(render: Render) -> None:
    if not render.is_bundle or render.status is not RenderStatus.CREATED:
        raise RenderHasComposition(
            f"render {render.id} is {render.status} and takes no bundle", status=render.status
        )


def _no_render(render_id: RenderId) -> RenderNotFound:
    return RenderNotFound(f"there is no render {render_id}")
