"""The job that sends one attempt to its endpoint."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.pipeline import AttemptId, RunId

SEND_ATTEMPT: Final = "pipeline.send"
ENDPOINTS_QUEUE: Final = "endpoints"


def send_job(attempt_id: AttemptId, run_id: RunId, organization_id: OrganizationId) -> NewJob:
    """Return the job for an attempt with a slot; a surplus job finds nothing to do."""
    args = {
        "attempt_id": str(attempt_id),
        "run_id": str(run_id),
        "organization_id": str(organization_id),
    }
    return NewJob(kind=SEND_ATTEMPT, args=args, queue=ENDPOINTS_QUEUE)


def attempt_of(args: Mapping[str, Any]) -> tuple[AttemptId, RunId]:
    """Return the attempt of a job, and its run."""
    return AttemptId(UUID(args["attempt_id"])), RunId(UUID(args["run_id"]))
