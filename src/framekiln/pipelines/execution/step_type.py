"""What a type of step is, whole: its rules, how a unit of it starts, and what an attempt does.

Each type is one module in `steps` that extends `StepType`; all hooks but the name have defaults.
Whatever schedules, starts, runs, validates or shows steps talks to a `StepType`, never to a name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from framekiln.db.pool import Database
from framekiln.files.service import Files
from framekiln.pipelines.definition.model import Step
from framekiln.pipelines.definition.step_rules import StepRules
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_media import StepMedia
from framekiln.pipelines.execution.step_work import Runners, StepRunner
from framekiln.pipelines.jobs import LIGHT_STEPS_QUEUE, step_job
from framekiln.pipelines.model.pipeline import EndpointId
from framekiln.pipelines.model.run import StepRun, UnitKey
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore
from framekiln.transcripts.service import Transcripts

if TYPE_CHECKING:
    from framekiln.transcripts.recognizer import Recognizer


@dataclass(frozen=True)
class StepServices:
    """What runners are built from."""

    database: Database
    files: Files
    blobs: BlobStore
    renders: Renders
    transcripts: Transcripts
    recognizer: "Recognizer"
    public_url: str

    @property
    def media(self) -> StepMedia:
        """What gets the media of an attempt."""
        return StepMedia(self.database, self.files, self.blobs)


class StepType(StepRules):
    """One type of step. Without hooks of its own it has jobs, and nobody who does them."""

    samples_frames: ClassVar[bool] = False
    """Whether it takes pictures of the file; `frame_times` says then when."""

    def queue(self, media: MediaState) -> str:
        """Return the queue for jobs of the type: the light one for what takes a moment."""
        return LIGHT_STEPS_QUEUE

    async def start(self, locked: LockedRun, unit_key: UnitKey) -> None:
        """Start a unit that has become ready: by a job, unless the type knows better."""
        queue = self.queue(locked.context.media)
        locked.jobs.append(step_job(unit_key, locked.run.organization_id, queue))

    async def retry(self, locked: LockedRun, unit_key: UnitKey) -> None:
        """Arrange another attempt at a unit. Nothing for jobs: they are queued when due."""

    async def cancel_obsolete(self, locked: LockedRun, step: StepRun) -> None:
        """Cancel what is under way elsewhere for units of a changed step that have ended."""

    def endpoint_id(self, step: Step) -> EndpointId | None:
        """Return the endpoint that a step has its work done by, if there is one."""
        return None

    def redacted_kinds(self, step: Step) -> frozenset[str]:
        """Return the kinds of annotations that a step hides or mutes."""
        return frozenset()

    def frame_times(self, metadata: Mapping[str, Any]) -> range:
        """Return when the pictures were taken that an output speaks of, in milliseconds."""
        return range(0)

    def open_runner(self, services: StepServices) -> StepRunner | None:
        """Return what does the jobs of the type; None if it has no jobs."""
        return None


StepTypes = Mapping[str, StepType]
"""By name."""


def step_table(*types: StepType) -> StepTypes:
    """Return a table of types."""
    table = {each.name: each for each in types}
    assert len(table) == len(types), "two types have the same name"
    return table


def open_runners(types: StepTypes, services: StepServices) -> Runners:
    """Return what does the jobs of all types that have any."""
    opened = {name: each.open_runner(services) for name, each in types.items()}
    return {name: runner for name, runner in opened.items() if runner is not None}
