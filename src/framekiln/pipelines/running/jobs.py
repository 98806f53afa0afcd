"""The jobs of runs: one for each unit that a worker here does."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.ids import RunId
from framekiln.pipelines.model.run import UnitName

RUN_STEP: Final = "pipeline.step"
QUEUE: Final = "steps"


def step_job(name: UnitName, organization_id: OrganizationId) -> NewJob:
    """Return the job that does a step, or one window of it."""
    args = {
        "run_id": str(name.run_id),
        "step_key": name.step_key,
        "window": name.window_number,
        "organization_id": str(organization_id),
    }
    return NewJob(kind=RUN_STEP, args=args, queue=QUEUE)


def unit_of(args: Mapping[str, Any]) -> UnitName:
    """Return which unit a job is for."""
    return UnitName(RunId(UUID(args["run_id"])), args["step_key"], args["window"])
