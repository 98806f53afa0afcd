"""What can be done with renders. Every state change of a render is one transaction here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from framekiln.db.notify import Follower, Notifications, notify
from framekiln.db.pool import Database
from framekiln.identity.model import Caller
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, RenderId, new_uuid
from framekiln.renders import store
from framekiln.renders.bundle import check_bundle
from framekiln.renders.jobs import film_job
from framekiln.renders.model import (
    NewRender,
    Progress,
    Render,
    RenderHasComposition,
    RenderIsActive,
    RenderNotFound,
    RenderStatus,
    render_prefix,
    source_key,
    topic,
)
from framekiln.storage.blob_store import BlobStore

_REMOVED_AT_A_TIME: Final = 100


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
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._blobs = blobs
        self._notifications = notifications
        self._clock = clock

    async def create(self, caller: Caller, new: NewRender) -> Render:
        """Store the composition, the render and its job: all of them, or nothing."""
        organization_id = caller.organization.id
        render_id = RenderId(new_uuid())
        key = source_key(organization_id, render_id, is_bundle=new.html is None)
        if new.html is not None:
            await self._blobs.put(key, new.html.encode())
        try:
            async with self._database.transaction() as connection:
                render = await store.insert(
                    connection,
                    render_id,
                    new,
                    organization_id=organization_id,
                    api_key_id=caller.api_key_id,
                    source_key=key,
                    now=self._clock.now(),
                )
                if new.html is not None:
                    await self._jobs.defer(connection, film_job(render))
        except BaseException:
            await self._blobs.delete(key)
            raise
        return render

    async def accept_bundle(
        self, organization_id: OrganizationId, render_id: RenderId, archive: Path
    ) -> Render:
        """Keep the uploaded bundle of a render, and begin."""
        _check_waits(await self.get(organization_id, render_id))
        await asyncio.to_thread(check_bundle, archive)
        async with self._database.transaction() as connection:
            # Under the lock: of two uploads at once, the second must not replace what is filmed.
            render = await store.lock(connection, render_id)
            if render is None:
                raise _no_render(render_id)
            _check_waits(render)
            await self._blobs.put_file(render.source_key, archive)
            await store.set_queued(connection, render_id)
            await self._jobs.defer(connection, film_job(render))
            await notify(connection, topic(render_id))
        return await self.get(organization_id, render_id)

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
        await self._blobs.delete_prefix(render_prefix(render.organization_id, render.id))

    async def remove_expired(self) -> int:
        """Remove what has expired and is not being worked on; return how many renders went."""
        async with self._database.transaction() as connection:
            expired = await store.take_expired(
                connection, now=self._clock.now(), limit=_REMOVED_AT_A_TIME
            )
        for render in expired:
            await self._blobs.delete_prefix(render_prefix(render.organization_id, render.id))
        return len(expired)

    async def get(self, organization_id: OrganizationId, render_id: RenderId) -> Render:
        """Return a render of the organization."""
        async with self._database.connection() as connection:
            render = await store.find(connection, organization_id, render_id)
        if render is None:
            raise _no_render(render_id)
        return render

    async def progress(self, render_id: RenderId) -> Progress:
        """Return how far a render is."""
        async with self._database.connection() as connection:
            progress = await store.find_progress(connection, render_id)
        if progress is None:
            raise _no_render(render_id)
        return progress

    @asynccontextmanager
    async def follow(self, render_id: RenderId) -> AsyncIterator[Follower]:
        """Be woken whenever a render's progress changes."""
        async with self._notifications.follow(topic(render_id)) as follower:
            yield follower


def _check_waits(render: Render) -> None:
    if not render.is_bundle or render.status is not RenderStatus.CREATED:
        raise RenderHasComposition(
            f"render {render.id} is {render.status} and takes no bundle", status=render.status
        )


def _no_render(render_id: RenderId) -> RenderNotFound:
    return RenderNotFound(f"there is no render {render_id}")
