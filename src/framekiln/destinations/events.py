"""Events of destinations, recorded in the transaction of the change."""

from dataclasses import dataclass
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.destinations.model import Destination, DestinationStatus
from framekiln.kit.clock import iso
from framekiln.webhooks.model import Event
from framekiln.webhooks.outbox import Outbox

_TOPICS: Final = {
    DestinationStatus.COMPLETE: "destination.complete",
    DestinationStatus.FAILED: "destination.failed",
}


@dataclass(frozen=True)
class DestinationEvents:
    """Records webhook events of destinations."""

    outbox: Outbox

    async def record(self, connection: Connection, destination: Destination) -> None:
        """Record that a copy has ended; other changes are no events."""
        topic = _TOPICS.get(destination.status)
        if topic is None:
            return
        event = Event(
            organization_id=destination.organization_id,
            api_key_id=destination.api_key_id,
            topic=topic,
            resource_id=destination.id,
            data={
                **destination_summary(destination),
                "render_id": str(destination.render_id),
                "resource_id": destination.resource_id,
            },
        )
        await self.outbox.record(connection, event)


def destination_summary(destination: Destination) -> dict[str, Any]:
    """Return a destination as JSON, without its credentials."""
    error = destination.error
    return {
        "id": str(destination.id),
        "type": str(destination.type),
        "address": destination.address,
        "status": str(destination.status),
        "attempts": destination.attempts,
        "byte_size": destination.byte_size,
        "completed_at": iso(destination.completed_at),
        "error": None if error is None else {"code": error.code, "message": error.message},
    }
