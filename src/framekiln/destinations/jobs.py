"""The job that copies an output to one destination."""

from datetime import datetime
from typing import Final

from framekiln.destinations.model import DestinationId
from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId

COPY_OUTPUT: Final = "destination.copy"
DESTINATIONS_QUEUE: Final = "destinations"


def copy_job(
    destination_id: DestinationId,
    organization_id: OrganizationId,
    *,
    run_at: datetime | None = None,
) -> NewJob:
    """Return the job; a surplus one finds nothing to do."""
    return NewJob(
        kind=COPY_OUTPUT,
        args={"destination_id": str(destination_id), "organization_id": str(organization_id)},
        queue=DESTINATIONS_QUEUE,
        dedupe_key=f"destination:{destination_id}",
        run_at=run_at,
    )
