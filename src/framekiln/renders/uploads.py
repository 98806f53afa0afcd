"""What is uploaded for a render: its bundle, or its finished output."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from framekiln.db.notify import notify
from framekiln.db.pool import Connection, Database
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.renders import store
from framekiln.renders.bundle import check_bundle
from framekiln.renders.errors import BadFilm, RenderHasComposition, RenderNotFound
from framekiln.renders.events import RenderEvents
from framekiln.renders.jobs import film_job
from framekiln.renders.model import (
    Render,
    RenderStatus,
    output_key,
    progress_topic,
    uploaded_bundle_key,
)
from framekiln.renders.output import container_of, is_mp4_film
from framekiln.renders.uploaded_output import probe_film
from framekiln.storage.keys import NewKey
from framekiln.storage.new_blobs import NewBlobs


@dataclass(frozen=True)
class RenderUploads:
    """Accepts uploads for renders that wait for their bundle."""

    database: Database
    jobs: JobQueue
    new_blobs: NewBlobs
    clock: Clock
    events: RenderEvents

    async def accept_bundle(self, render: Render, archive: Path) -> Render:
        """Store the uploaded bundle of a render, and queue its job."""
        _check_awaits_bundle(render)
        await asyncio.to_thread(check_bundle, archive)
        key = uploaded_bundle_key(render)
        async with self._recording(render, key, archive) as connection:
            await store.set_queued(connection, render.id, source_key=key)
            await self.jobs.defer(connection, film_job(render.organization_id, render.id))
            return await self._report(connection, render)

    async def accept_output(self, render: Render, film: Path) -> Render:
        """Store an uploaded film as the output of a render that waits for its bundle."""
        _check_awaits_bundle(render)
        if not is_mp4_film(render.request.output):
            container = container_of(render.request.output)
            raise BadFilm(f"render {render.id} is a {container}: a film cannot be its output")
        key = output_key(render)
        result = await probe_film(film, output_key=key)
        async with self._recording(render, key, film) as connection:
            await store.complete(connection, render.id, result, now=self.clock.now())
            return await self._report(connection, render)

    @asynccontextmanager
    async def _recording(
        self, render: Render, key: NewKey, path: Path
    ) -> AsyncIterator[Connection]:
        """Store a file under a new key; yield the transaction that records the key.

        The row is locked in it: only one of two uploads at once is recorded.
        """
        # Before the transaction: it may take minutes, and the database has few connections.
        await self.new_blobs.put_file(key, path)
        async with (
            self.new_blobs.recording(key),
            self.database.transaction() as connection,
        ):
            current = await store.lock(connection, render.id)
            if current is None:
                raise RenderNotFound(f"there is no render {render.id}")
            _check_awaits_bundle(current)
            yield connection

    async def _report(self, connection: Connection, before: Render) -> Render:
        """Report the change of a render, and return it."""
        await notify(connection, progress_topic(before.id))
        changed = await store.find_by_id(connection, before.id)
        assert changed is not None, "its row is locked"
        await self.events.record(connection, changed, before=before.status)
        return changed


def _check_awaits_bundle(render: Render) -> None:
    if not render.is_bundle or render.status is not RenderStatus.CREATED:
        raise RenderHasComposition(
            f"render {render.id} is {render.status} and takes no bundle", status=render.status
        )
