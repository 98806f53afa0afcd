"""Idempotency keys: the first request creates a resource, a repeated one returns it.

Keys of an organization are one space, whatever they are used for: a key that began a run cannot
begin a batch.
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
    """A request, as far as it matters whether it was made before."""

    organization_id: OrganizationId
    key: str | None
    digest: str
    table: IdempotentTable
    """Where what it makes is kept."""

    def check_matches(self, made: IdempotencyRecord) -> None:
        """Raise unless it was this very request that made something with its key."""
        if made.table != self.table:
            noun = made.table.removeprefix("pipeline_")
            raise IdempotencyConflict(
                f"the Idempotency-Key {self.key!r} was used for a {noun}; take a new one"
            )
        if made.request_digest != self.digest:
            raise IdempotencyConflict(
                f"the Idempotency-Key {self.key!r} was used with another body; take a new one"
            )


async def create_once(
    database: Database, request: IdempotentRequest, make: Callable[[Connection], Awaitable[Id]]
) -> tuple[Id | UUID, bool]:
    """Return the id of what was made, now or before, and whether it is new."""
    async with database.transaction() as connection:
        if request.key is not None:
            found = await rows_store.lock_idempotency_key(
                connection, request.organization_id, request.key, table=request.table
            )
            if found is not None:
                request.check_matches(found)
                return found.id, False
        return await make(connection), True
