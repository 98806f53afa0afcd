"""What can be done with renders. Every state change of a render is one transaction here."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.db.notify import Follower, Notifications, notify
from framekiln.db.pool import Database
from framekiln.identity.model import Caller
from framekiln.jobs.model import NewJob
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, RenderId, new_uuid
from framekiln.renders import store
from framekiln.renders.model import (
    Failure,
    Made,
    NewRender,
    Progress,
    Render,
    RenderNotFound,
    source_key,
    topic,
)
from framekiln.storage.blob_store import BlobStore

RUN_RENDER = "render.run"
RENDER_QUEUE = "render"


class Renders:
    """The renders of all organizations."""

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
        key = source_key(organization_id, render_id)
        await self._blobs.put(key, new.html.encode())
        try:
            async with self._database.transaction() as connection:
                render = await store.insert(
                    connection,
                    render_id,
                    new,
                    organization_id=organization_id,
                    api_key_id=caller.api_key.id,
                    source_key=key,
                    now=self._clock.now(),
                )
                args = {"render_id": str(render_id)}
                await self._jobs.defer(
                    connection, NewJob(kind=RUN_RENDER, args=args, queue=RENDER_QUEUE)
                )
        except BaseException:
            await self._blobs.delete(key)
            raise
        return render

    async def get(self, organization_id: OrganizationId, render_id: RenderId) -> Render:
        """Return a render of the organization."""
        async with self._database.connection() as connection:
            render = await store.find(connection, organization_id, render_id)
        if render is None:
            raise RenderNotFound(f"there is no render {render_id}")
        return render

    async def progress(self, render_id: RenderId) -> Progress:
        """Return how far a render is."""
        async with self._database.connection() as connection:
            progress = await store.find_progress(connection, render_id)
        if progress is None:
            raise RenderNotFound(f"there is no render {render_id}")
        return progress

    @asynccontextmanager
    async def follow(self, render_id: RenderId) -> AsyncIterator[Follower]:
        """Be woken whenever a render's progress changes."""
        async with self._notifications.follow(topic(render_id)) as follower:
            yield follower

    async def take(self, render_id: RenderId) -> Render | None:
        """Become the render's worker; None when it is finished or gone."""
        async with self._database.transaction() as connection:
            render = await store.take(connection, render_id, now=self._clock.now())
            await notify(connection, topic(render_id))
        return render

    async def report(self, render: Render, *, frames_done: int, frame_count: int) -> None:
        """Tell followers how far the render is."""
        async with self._database.transaction() as connection:
            await store.set_progress(
                connection, render, frames_done=frames_done, frame_count=frame_count
            )
            if render.fence > 1:
                await store.set_recovered(connection, render)
            await notify(connection, topic(render.id))

    async def complete(self, render: Render, made: Made) -> bool:
        """End a render well; False when another worker has taken it over."""
        async with self._database.transaction() as connection:
            is_ours = await store.complete(connection, render, made, now=self._clock.now())
            await notify(connection, topic(render.id))
        return is_ours

    async def fail(self, render: Render, failure: Failure) -> bool:
        """End a render badly; False when another worker has taken it over."""
        async with self._database.transaction() as connection:
            is_ours = await store.fail(connection, render, failure, now=self._clock.now())
            await notify(connection, topic(render.id))
        return is_ours
