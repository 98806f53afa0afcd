"""SQL of the audit log. Makes no decisions; the caller owns the transaction."""

from datetime import datetime

from psycopg.types.json import Jsonb

from framekiln.audit.model import Actor, ActorType, AuditEvent, AuditFilter, NewAuditEvent
from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId


async def insert_event(connection: Connection, event: NewAuditEvent) -> None:
    """Add an event."""
    await connection.execute(
        """
        INSERT INTO audit_event (organization_id, happened_at, actor_type, actor_id, actor_name,
                                 address, action, resource, details)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            event.organization_id,
            event.happened_at,
            event.actor.type,
            event.actor.id,
            event.actor.name,
            event.actor.address,
            event.action,
            event.resource,
            Jsonb(dict(event.details)),
        ),
    )


async def list_events(
    connection: Connection,
    organization_id: OrganizationId,
    wanted: AuditFilter,
    *,
    limit: int,
    before: int | None,
) -> list[AuditEvent]:
    """Return events, newest first."""
    cursor = await connection.execute(
        """
        SELECT id, organization_id, happened_at, actor_type, actor_id, actor_name, address, action,
               resource, details
        FROM audit_event
        WHERE organization_id = %(organization_id)s
          AND (%(before)s::bigint IS NULL OR id < %(before)s)
          AND (%(action)s::text IS NULL OR action = %(action)s
               OR action LIKE %(area)s::text)
          AND (%(actor)s::text IS NULL OR actor_id = %(actor)s OR actor_name = %(actor)s)
          AND (%(resource)s::text IS NULL OR resource = %(resource)s)
          AND (%(since)s::timestamptz IS NULL OR happened_at >= %(since)s)
          AND (%(until)s::timestamptz IS NULL OR happened_at < %(until)s)
        ORDER BY id DESC LIMIT %(limit)s
        """,
        {
            **vars(wanted),
            "organization_id": organization_id,
            "area": _area_pattern(wanted.action),
            "limit": limit,
            "before": before,
        },
    )
    return [
        AuditEvent(
            position=row["id"],
            organization_id=OrganizationId(row["organization_id"]),
            happened_at=row["happened_at"],
            actor=Actor(
                ActorType(row["actor_type"]), row["actor_id"], row["actor_name"], row["address"]
            ),
            action=row["action"],
            resource=row["resource"],
            details=row["details"],
        )
        for row in await cursor.fetchall()
    ]


async def delete_events(connection: Connection, *, before: datetime) -> int:
    """Delete old events; return their number."""
    cursor = await connection.execute("DELETE FROM audit_event WHERE happened_at < %s", (before,))
    return cursor.rowcount


def _area_pattern(action: str | None) -> str | None:
    """Return the pattern of all actions of an area; None if an action is wanted, or anything."""
    if action is None or "." in action:
        return None
    escaped = action.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"{escaped}.%"
