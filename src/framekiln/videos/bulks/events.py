"""Events of bulks for webhooks, recorded in the transaction of the change."""

from dataclasses import dataclass
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.kit.clock import iso
from framekiln.videos.bulks import store
from framekiln.videos.bulks.model import Bulk, BulkStatus, CountedBulk
from framekiln.webhooks.model import Event
from framekiln.webhooks.outbox import Outbox

_TOPICS: Final = {
    BulkStatus.RUNNING: "bulk.created",
    BulkStatus.COMPLETE: "bulk.completed",
    BulkStatus.CANCELLED: "bulk.cancelled",
}


@dataclass(frozen=True)
class BulkEvents:
    """Records changes of the status of bulks."""

    outbox: Outbox

    async def record(self, connection: Connection, bulk: Bulk) -> None:
        """Record that a bulk has reached its status, and wake the pages that show it."""
        counted = CountedBulk(bulk, await store.count_rows(connection, bulk.id))
        await self.outbox.record(
            connection,
            Event(
                organization_id=bulk.organization_id,
                api_key_id=bulk.api_key_id,
                topic=_TOPICS[bulk.status],
                resource_id=bulk.id,
                data=_data(counted),
            ),
        )
        await store.announce_change(connection, bulk.organization_id)


def _data(counted: CountedBulk) -> dict[str, Any]:
    bulk = counted.bulk
    return {
        "id": bulk.id,
        "status": bulk.status,
        "template_id": bulk.template_id,
        "template_version": bulk.template_version,
        "row_count": bulk.row_count,
        "counts": {str(status): count for status, count in counted.counts.items()},
        "created_at": iso(bulk.created_at),
        "ended_at": iso(bulk.ended_at),
    }
