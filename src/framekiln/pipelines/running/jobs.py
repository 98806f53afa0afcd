"""The jobs of runs: one for each unit that a worker here does."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.definitions.steps import detect_scenes, sample_frames, transcribe
from framekiln.pipelines.model.ids import RunId
from framekiln.pipelines.model.run import UnitName
from framekiln.pipelines.states.run_state import Media

RUN_STEP: Final = "pipeline.step"
QUEUE: Final = "steps"
# Places of its own: what takes a moment never waits for what decodes a film.
LIGHT_QUEUE: Final = "light_steps"

_DECODING: Final = frozenset({sample_frames.STEP.name, detect_scenes.STEP.name})


def step_job(name: UnitName, organization_id: OrganizationId, queue: str) -> NewJob:
    """Return the job that does a step, or one window of it; `queue_of` says where."""
    args = {
        "run_id": str(name.run_id),
        "step_key": name.step_key,
        "window": name.window_number,
        "organization_id": str(organization_id),
    }
    return NewJob(kind=RUN_STEP, args=args, queue=queue)


def queue_of(kind: str, media: Media) -> str:
    """Return the queue for steps of a type.

    The transcription of a whole file, and a redaction, are made by other jobs, which a step only
    waits for. What still arrives is listened to by the step itself.
    """
    is_listening = kind == transcribe.STEP.name and media is Media.ARRIVING
    return QUEUE if kind in _DECODING or is_listening else LIGHT_QUEUE


def unit_of(args: Mapping[str, Any]) -> UnitName:
    """Return which unit a job is for."""
    return UnitName(RunId(UUID(args["run_id"])), args["step_key"], args["window"])
