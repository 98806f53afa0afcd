"""The job of a bulk: start its next rows."""

from datetime import datetime
from typing import Final

from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId
from framekiln.videos.public_ids import BulkId
from framekiln.webhooks.jobs import IO_QUEUE

START_ROWS: Final = "bulk.start_rows"


def start_rows_job(
    bulk_id: BulkId, organization_id: OrganizationId, *, run_at: datetime | None = None
) -> NewJob:
    """Return the job that starts the next rows; one at a time waits for each bulk."""
    return NewJob(
        kind=START_ROWS,
        args={"bulk_id": bulk_id, "organization_id": str(organization_id)},
        queue=IO_QUEUE,
        dedupe_key=f"{START_ROWS}:{bulk_id}",
        run_at=run_at,
    )
