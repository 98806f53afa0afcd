"""SQL of destinations. Makes no decisions; the caller owns the transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.destinations.model import (
    Destination,
    DestinationError,
    DestinationId,
    DestinationOwner,
    DestinationStatus,
    DestinationType,
    PreparedDestination,
    with_id,
)
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.renders.model import Render


async def insert(
    connection: Connection,
    render: Render,
    prepared: Sequence[PreparedDestination],
    *,
    resource_id: str,
    now: datetime,
) -> None:
    """Add the destinations of an output."""
    for each in prepared:
        await connection.execute(
            """
            INSERT INTO destination (id, organization_id, api_key_id, render_id, resource_id, type,
                                     address, encrypted, status, created_at)
            VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(render_id)s, %(resource_id)s,
                    %(type)s, %(address)s, %(encrypted)s, 'pending', %(now)s)
            """,
            {
                "id": each.id,
                "organization_id": render.organization_id,
                "api_key_id": render.api_key_id,
                "render_id": render.id,
                "resource_id": resource_id,
                "type": str(each.type),
                "address": with_id(each.address, resource_id),
                "encrypted": each.encrypted,
                "now": now,
            },
        )
    await connection.execute("UPDATE render SET has_destinations = true WHERE id = %s", [render.id])


async def replace_stored(
    connection: Connection, owner: DestinationOwner, prepared: Sequence[PreparedDestination]
) -> None:
    """Give a template or a bulk these destinations instead of those it has."""
    await connection.execute(
        """
        DELETE FROM stored_destination
        WHERE organization_id = %s AND (template_id = %s OR bulk_id = %s)
        """,
        [owner.organization_id, owner.template_id, owner.bulk_id],
    )
    for each in prepared:
        await connection.execute(
            """
            INSERT INTO stored_destination (id, organization_id, template_id, bulk_id, type,
                                            address, encrypted)
            VALUES (%s, %s, %s, %s, %s, %s, %s)
            """,
            [
                each.id,
                owner.organization_id,
                owner.template_id,
                owner.bulk_id,
                str(each.type),
                each.address,
                each.encrypted,
            ],
        )


async def list_stored(connection: Connection, owner: DestinationOwner) -> list[PreparedDestination]:
    """Return the destinations of a template or a bulk, in the order of the request."""
    cursor = await connection.execute(
        """
        SELECT * FROM stored_destination
        WHERE organization_id = %s AND (template_id = %s OR bulk_id = %s)
        ORDER BY position
        """,
        [owner.organization_id, owner.template_id, owner.bulk_id],
    )
    return [
        PreparedDestination(
            id=DestinationId(row["id"]),
            type=DestinationType(row["type"]),
            address=row["address"],
            encrypted=bytes(row["encrypted"]),
        )
        for row in await cursor.fetchall()
    ]


async def list_of_resources(
    connection: Connection, organization_id: OrganizationId, resource_ids: Sequence[str]
) -> list[Destination]:
    """Return the destinations of renders or videos, in the order of the requests."""
    cursor = await connection.execute(
        """
        SELECT * FROM destination WHERE organization_id = %s AND resource_id = ANY(%s)
        ORDER BY position
        """,
        [organization_id, list(resource_ids)],
    )
    return [_destination(row) for row in await cursor.fetchall()]


async def list_pending(connection: Connection, render_id: RenderId) -> list[Destination]:
    """Return the destinations of an output that nobody has tried yet, locked."""
    cursor = await connection.execute(
        """
        SELECT * FROM destination WHERE render_id = %s AND status = 'pending' AND attempts = 0
        ORDER BY position FOR UPDATE
        """,
        [render_id],
    )
    return [_destination(row) for row in await cursor.fetchall()]


async def take(connection: Connection, destination_id: DestinationId) -> Destination | None:
    """Begin another attempt; None if it has ended, or is gone."""
    cursor = await connection.execute(
        """
        UPDATE destination SET status = 'copying', attempts = attempts + 1
        WHERE id = %s AND status IN ('pending', 'copying') RETURNING *
        """,
        [destination_id],
    )
    row = await cursor.fetchone()
    return _destination(row) if row else None


async def is_taken(connection: Connection, taken: Destination) -> bool:
    """Whether an attempt is still the last one."""
    cursor = await connection.execute(
        "SELECT FROM destination WHERE id = %s AND status = 'copying' AND attempts = %s",
        [taken.id, taken.attempts],
    )
    return await cursor.fetchone() is not None


async def give_back(connection: Connection, taken: Destination) -> bool:
    """Undo `take`; False if there was a later attempt, or it is gone."""
    cursor = await connection.execute(
        """
        UPDATE destination SET status = 'pending', attempts = attempts - 1
        WHERE id = %s AND status = 'copying' AND attempts = %s
        """,
        [taken.id, taken.attempts],
    )
    return cursor.rowcount == 1


async def finish(
    connection: Connection,
    taken: Destination,
    status: DestinationStatus,
    *,
    error: DestinationError | None = None,
    byte_size: int | None = None,
    completed_at: datetime | None = None,
) -> Destination | None:
    """Record the result of an attempt; None if there was a later one, or it is gone."""
    is_over = status in (DestinationStatus.COMPLETE, DestinationStatus.FAILED)
    cursor = await connection.execute(
        """
        UPDATE destination
        SET status = %(status)s, error_code = %(code)s, error_message = %(message)s,
            byte_size = %(byte_size)s, completed_at = %(completed_at)s,
            encrypted = CASE WHEN %(is_over)s THEN ''::bytea ELSE encrypted END
        WHERE id = %(id)s AND attempts = %(attempts)s RETURNING *
        """,
        {
            "id": taken.id,
            "attempts": taken.attempts,
            "status": str(status),
            "code": error.code if error else None,
            "message": error.message if error else None,
            "byte_size": byte_size,
            "completed_at": completed_at,
            "is_over": is_over,
        },
    )
    row = await cursor.fetchone()
    return _destination(row) if row else None


def _destination(row: Mapping[str, Any]) -> Destination:
    key, code = row["api_key_id"], row["error_code"]
    return Destination(
        id=DestinationId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=None if key is None else ApiKeyId(key),
        render_id=RenderId(row["render_id"]),
        resource_id=row["resource_id"],
        type=DestinationType(row["type"]),
        address=row["address"],
        status=DestinationStatus(row["status"]),
        attempts=row["attempts"],
        error=None if code is None else DestinationError(code, row["error_message"]),
        byte_size=row["byte_size"],
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        encrypted=bytes(row["encrypted"]),
    )
