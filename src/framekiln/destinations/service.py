"""What owners do with destinations: name them with a render, and see what became of the copies."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from framekiln.db.pool import Connection, Database
from framekiln.destinations import store
from framekiln.destinations.encryption import CredentialEncryption
from framekiln.destinations.errors import DestinationInvalid, OutputMissing
from framekiln.destinations.events import DestinationEvents
from framekiln.destinations.jobs import copy_job
from framekiln.destinations.model import (
    ID_PLACEHOLDER,
    Destination,
    DestinationError,
    DestinationId,
    DestinationOwner,
    DestinationRequest,
    DestinationStatus,
    DestinationType,
    PreparedDestination,
)
from framekiln.destinations.targets import public_address, settings_json, upload_target
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import Clock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.kit.ids import new_uuid
from framekiln.renders.model import Render, RenderStatus
from framekiln.storage.errors import BucketCredentialsInvalid


class Destinations:
    """The destinations of all organizations, for their owners."""

    def __init__(
        self,
        database: Database,
        *,
        jobs: JobQueue,
        fetcher: GuardedFetcher,
        encryption: CredentialEncryption,
        events: DestinationEvents,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._fetcher = fetcher
        self._encryption = encryption
        self._events = events
        self._clock = clock

    async def prepare(self, requests: Sequence[DestinationRequest]) -> list[PreparedDestination]:
        """Check addresses and the form of credentials, and encrypt them; store and send nothing."""
        return [await self._prepared(each, number) for number, each in enumerate(requests)]

    async def add(
        self,
        connection: Connection,
        render: Render,
        prepared: Sequence[PreparedDestination],
        *,
        resource_id: str,
    ) -> None:
        """Add destinations in the transaction that creates what is copied."""
        if prepared:
            now = self._clock.now()
            await store.insert(connection, render, prepared, resource_id=resource_id, now=now)
            # A video may share a film that is complete already.
            await self.on_render_changed(connection, render)

    async def store(
        self,
        connection: Connection,
        owner: DestinationOwner,
        prepared: Sequence[PreparedDestination],
    ) -> None:
        """Give a template or a bulk these destinations instead of those it has."""
        await store.replace_stored(connection, owner, prepared)

    async def require_own_addresses(self, prepared: Sequence[PreparedDestination]) -> None:
        """Raise if several outputs would replace each other at one of these destinations."""
        for number, each in enumerate(prepared):
            settings = json.loads(
                await self._encryption.decrypt(each.encrypted, row_id=each.id.bytes)
            )
            name = "url" if each.type is DestinationType.URL else "key"
            if ID_PLACEHOLDER not in settings[name]:
                field = f"destinations.{number}.{name}"
                message = (
                    f"each video would replace the one before it at {each.address}: put"
                    f" {ID_PLACEHOLDER} into it, which becomes the id of the video"
                )
                issue = {"path": field, "code": "invalid", "message": message}
                raise DestinationInvalid(f"{field}: {message}", field=field, issues=[issue])

    async def stored(self, owner: DestinationOwner) -> list[PreparedDestination]:
        """Return the destinations of a template or a bulk."""
        async with self._database.connection() as connection:
            return await store.list_stored(connection, owner)

    async def copy_stored(
        self, connection: Connection, owner: DestinationOwner, to: DestinationOwner
    ) -> None:
        """Give a new bulk the destinations of its template."""
        await store.replace_stored(connection, to, await self._copied_settings(connection, owner))

    async def add_stored(
        self, connection: Connection, render: Render, owner: DestinationOwner, *, resource_id: str
    ) -> None:
        """Add the destinations of a template or a bulk to one of its videos."""
        prepared = await self._copied_settings(connection, owner)
        await self.add(connection, render, prepared, resource_id=resource_id)

    async def find(self, renders: Mapping[str, Render]) -> dict[str, list[Destination]]:
        """Return the destinations of renders or videos of one organization, by the id of each.

        `renders` has the render of each id.
        """
        by_resource: dict[str, list[Destination]] = {each: [] for each in renders}
        copied = {each: render for each, render in renders.items() if render.has_destinations}
        if copied:
            organization_id = next(iter(copied.values())).organization_id
            async with self._database.connection() as connection:
                found = await store.list_of_resources(connection, organization_id, list(copied))
            for each in found:
                by_resource[each.resource_id].append(each)
        return by_resource

    async def on_render_changed(self, connection: Connection, render: Render) -> None:
        """Queue the copies of an output that is complete; without one, they have failed."""
        if not render.status.is_terminal:
            return
        pending = await store.list_pending(connection, render.id)
        if render.status is RenderStatus.COMPLETE:
            copies = [copy_job(each.id, each.organization_id) for each in pending]
            await self._jobs.defer_many(connection, copies)
            return
        reason = "there is no output to copy, because the render failed: see its error"
        error = DestinationError(OutputMissing.code, reason)
        for each in pending:
            failed = await store.finish(connection, each, DestinationStatus.FAILED, error=error)
            if failed is not None:
                await self._events.record(connection, failed)

    async def _copied_settings(
        self, connection: Connection, owner: DestinationOwner
    ) -> list[PreparedDestination]:
        """Return stored destinations for other rows: what is encrypted belongs to one row."""
        return [await self._renewed(each) for each in await store.list_stored(connection, owner)]

    async def _renewed(self, stored: PreparedDestination) -> PreparedDestination:
        settings = await self._encryption.decrypt(stored.encrypted, row_id=stored.id.bytes)
        destination_id = DestinationId(new_uuid())
        encrypted = await self._encryption.encrypt(settings, row_id=destination_id.bytes)
        return replace(stored, id=destination_id, encrypted=encrypted)

    async def _prepared(self, request: DestinationRequest, number: int) -> PreparedDestination:
        field = f"destinations.{number}"
        try:
            # The id of the resource is not known yet; it changes nothing that is checked here.
            await self._fetcher.check(upload_target(request, "id").url)
        except (FetchRefused, BucketCredentialsInvalid) as error:
            issue = {"path": field, "code": "invalid", "message": error.message}
            raise DestinationInvalid(
                f"{field}: {error.message}", field=field, issues=[issue]
            ) from error
        destination_id = DestinationId(new_uuid())
        return PreparedDestination(
            id=destination_id,
            type=request.type,
            address=public_address(request),
            encrypted=await self._encryption.encrypt(
                settings_json(request.settings), row_id=destination_id.bytes
            ),
        )
