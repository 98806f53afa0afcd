"""The jobs of runs: one for each unit that a worker does, and for each attempt that is sent."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.pipeline import AttemptId, RunId
from framekiln.pipelines.model.run import UnitKey

RUN_STEP: Final = "pipeline.step"
STEPS_QUEUE: Final = "steps"
# Places of its own: what takes a moment never waits for what decodes a film.
LIGHT_STEPS_QUEUE: Final = "light_steps"

SEND_ATTEMPT: Final = "pipeline.send"
ENDPOINTS_QUEUE: Final = "endpoints"


def step_job(unit_key: UnitKey, organization_id: OrganizationId, queue: str) -> NewJob:
    """Return the job that does a step, or one window of it; its type says where."""
    args = {
        "run_id": str(unit_key.run_id),
        "step_key": unit_key.step_key,
        "window": unit_key.window_number,
        "organization_id": str(organization_id),
    }
    return NewJob(kind=RUN_STEP, args=args, queue=queue)


def unit_key_of(args: Mapping[str, Any]) -> UnitKey:
    """Return the unit of a job."""
    return UnitKey(RunId(UUID(args["run_id"])), args["step_key"], args["window"])


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
