"""Requests with an idempotency key: the first makes something, the same again finds it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

from framekiln.db.pool import Connection, Database
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.errors import IdempotencyConflict

Id = TypeVar("Id", bound=UUID)
Id_co = TypeVar("Id_co", bound=UUID, covariant=True)


class Made(Protocol[Id_co]):
    """What a request made."""

    @property
    def id(self) -> Id_co:
        """Its id."""
        ...

    @property
    def request_digest(self) -> str:
        """Of the request that made it."""
        ...


@dataclass(frozen=True)
class Keyed:
    """A request, as far as it matters whether it was made before."""

    organization_id: OrganizationId
    key: str | None
    digest: str

    def check_made(self, made: Made[UUID]) -> None:
        """Raise unless it was this very request that made something with its key."""
        if made.request_digest != self.digest:
            raise IdempotencyConflict(
                f"the Idempotency-Key {self.key!r} was used with another body; take a new one"
            )


async def make_once(
    database: Database,
    request: Keyed,
    *,
    find: Callable[[Connection, OrganizationId, str], Awaitable[Made[Id] | None]],
    make: Callable[[Connection], Awaitable[Id | None]],
) -> tuple[Id, bool]:
    """Return the id of what was made, now or before, and whether it is new.

    `find` looks for what was made with a key; `make` returns None when the key is taken.
    """
    while True:
        async with database.transaction() as connection:
            if request.key is not None:
                found = await find(connection, request.organization_id, request.key)
                if found is not None:
                    request.check_made(found)
                    return found.id, False
            made_id = await make(connection)
        if made_id is not None:
            return made_id, True
        # Somebody was quicker with the same key: now it can be found.
