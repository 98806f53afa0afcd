"""The jobs of runs: one for each unit that a worker does."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.pipeline import RunId
from framekiln.pipelines.model.run import UnitKey

RUN_STEP: Final = "pipeline.step"
STEPS_QUEUE: Final = "steps"
# Places of its own: what takes a moment never waits for what decodes a film.
LIGHT_STEPS_QUEUE: Final = "light_steps"


def step_job(name: UnitKey, organization_id: OrganizationId, queue: str) -> NewJob:
    """Return the job that does a step, or one window of it; its type says where."""
    args = {
        "run_id": str(name.run_id),
        "step_key": name.step_key,
        "window": name.window_number,
        "organization_id": str(organization_id),
    }
    return NewJob(kind=RUN_STEP, args=args, queue=queue)


def unit_key_of(args: Mapping[str, Any]) -> UnitKey:
    """Return the unit of a job."""
    return UnitKey(RunId(UUID(args["run_id"])), args["step_key"], args["window"])
