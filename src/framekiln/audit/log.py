"""Where domains write what was changed, in the transaction that changes it."""

from datetime import datetime
from typing import Any

from framekiln.audit import store
from framekiln.audit.actor import current_actor
from framekiln.audit.model import NewAuditEvent
from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId


async def record(
    connection: Connection,
    organization_id: OrganizationId,
    action: str,
    *,
    resource: object | None,
    now: datetime,
    **details: Any,
) -> None:
    """Write an action (`area.event`) of the current actor. Details must contain no secrets."""
    event = NewAuditEvent(
        organization_id=organization_id,
        happened_at=now,
        actor=current_actor(),
        action=action,
        resource=None if resource is None else str(resource),
        details={name: value for name, value in details.items() if value is not None},
    )
    await store.insert_event(connection, event)
