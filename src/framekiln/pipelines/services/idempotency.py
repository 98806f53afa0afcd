"""Idempotency keys: the first request creates a resource, a repeated one returns it.

An organization has one namespace of keys: a key that created a run cannot create a batch.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from framekiln.db.pool import Connection, Database
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.errors import IdempotencyConflict
from framekiln.pipelines.stores import rows as rows_store
from framekiln.pipelines.stores.rows import IdempotencyRecord, IdempotentTable

Id = TypeVar("Id", bound=UUID)


@dataclass(frozen=True)
class IdempotentRequest:
    """What identifies a request with an idempotency key."""

    organization_id: OrganizationId
    key: str | None
    digest: str
    table: IdempotentTable
    """The table of the resource that it creates."""

    def check_matches(self, record: IdempotencyRecord) -> None:
        """Raise unless the same request created the resource of its key."""
        if record.table != self.table:
            noun = record.table.removeprefix("pipeline_")
            raise IdempotencyConflict(
                f"the Idempotency-Key {self.key!r} was used for a {noun}; use a new one"
            )
        if record.request_digest != self.digest:
            raise IdempotencyConflict(
                f"the Idempotency-Key {self.key!r} was used with another body; use a new one"
            )


async def create_once(
    database: Database, request: IdempotentRequest, create: Callable[[Connection], Awaitable[Id]]
) -> tuple[Id | UUID, bool]:
    """Return the id of the resource, created now or before, and whether it is new."""
    async with database.transaction() as connection:
        if request.key is not None:
            found = await rows_store.lock_idempotency_key(
                connection, request.organization_id, request.key, table=request.table
            )
            if found is not None:
                request.check_matches(found)
                return found.id, False
        return await create(connection), True
