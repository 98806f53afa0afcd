"""What a type of step is, whole: its rules, how a unit of it starts, and what an attempt does.

Each type is one module in `steps` that extends `StepType`; all hooks but the name have defaults.
Whatever schedules, starts, runs, validates or shows steps talks to a `StepType`, never to a name.

A worker has one runner for all steps of a type, and one `StepWork` per attempt. Runners read the
file and write no rows: the output is recorded for them, if the unit is still theirs. Blobs that
they keep are replaced in the next attempt.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from framekiln.db.pool import Database
from framekiln.files.model import File
from framekiln.files.service import Files
from framekiln.pipelines.definition.model import Definition, Step
from framekiln.pipelines.definition.step_rules import StepRules, TypedGraph
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.jobs import LIGHT_STEPS_QUEUE, step_job
from framekiln.pipelines.model.pipeline import EndpointId
from framekiln.pipelines.model.run import Run, StepRun, TakenUnit, UnitKey
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore
from framekiln.transcripts.service import Transcripts

if TYPE_CHECKING:
    from framekiln.transcripts.recognizer import Recognizer


def _ignore_progress(_done_ms: int) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class StepWork:
    """One attempt at a step, or at one window of it."""

    taken: TakenUnit
    run: Run
    file: File
    """It may still be arriving when there is a window, but not the media of this window."""
    definition: Definition
    graph: TypedGraph
    """The types of the steps in the definition."""
    inputs: Mapping[str, StepOutput]
    """By namespace, with corrections applied and limited to the window."""
    remember: Callable[[Mapping[str, Any]], Awaitable[None]]
    """Keeps a note, small and plain JSON; raises `UnitLost` when the unit is not ours any more."""
    progress: Callable[[int], None] = _ignore_progress
    """Reports, from any thread, how many milliseconds of the file are done."""

    @property
    def step(self) -> Step:
        """The step; `settings` in it are those of the type."""
        return self.definition.steps[self.taken.key.step_key]

    @property
    def window(self) -> Window | None:
        """None for a whole-file step."""
        return self.taken.window

    @property
    def note(self) -> Mapping[str, Any] | None:
        """The last value given to `remember` in this attempt, by any worker."""
        return self.taken.note


@dataclass(frozen=True)
class RetryLater:
    """The work goes on elsewhere: ask again, in the same attempt, after some time.

    No place of a worker is held meanwhile. `note` says then what is being waited for.
    """

    after_s: float = 2.0
    done_ms: int | None = None
    """Up to which time of the file it is done by then, if that is known."""


class StepRunner(Protocol):
    """Does the steps of one type.

    What it raises ends the attempt. `FramekilnError.retryable` says whether there is another one;
    anything else is a bug and counts as retryable.
    """

    async def run(self, work: StepWork) -> StepOutput | RetryLater:
        """Return what came of it. It may be called twice, also at once, for one attempt."""
        ...


Runners = Mapping[str, StepRunner]
"""By name of the type."""


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


def named_endpoints(definition: Definition, types: StepTypes) -> dict[str, EndpointId]:
    """Return the endpoint of each step that has its work done by one."""
    named = {key: types[step.type].endpoint_id(step) for key, step in definition.steps.items()}
    return {key: endpoint_id for key, endpoint_id in named.items() if endpoint_id is not None}


def open_runners(types: StepTypes, services: StepServices) -> Runners:
    """Return what does the jobs of all types that have any."""
    opened = {name: each.open_runner(services) for name, each in types.items()}
    return {name: runner for name, runner in opened.items() if runner is not None}
