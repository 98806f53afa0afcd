"""What a worker does for a step: one runner for all steps of a type, one `StepWork` per attempt.

Runners read the file and write no rows: the output is recorded for them, if the unit is still
theirs. Blobs that they keep are replaced in the next attempt.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from framekiln.files.model import File
from framekiln.pipelines.definition.model import Definition, Step
from framekiln.pipelines.definition.step_rules import TypedGraph
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.run import Run
from framekiln.pipelines.outputs.model import StepOutput


@dataclass(frozen=True, kw_only=True)
class StepWork:
    """One attempt at a step, or at one window of it."""

    run: Run
    definition: Definition
    graph: TypedGraph
    """The types of the steps in the definition."""
    step: Step
    """`settings` in it are those of the type."""
    file: File
    window: Window | None
    """None for a whole-file step. Otherwise the file may still be arriving, but not this window."""
    inputs: Mapping[str, StepOutput]
    """By namespace, with corrections applied and limited to the window."""
    attempt: int
    note: Mapping[str, Any] | None
    """The last value given to `remember` in this attempt, by any worker."""
    remember: Callable[[Mapping[str, Any]], Awaitable[None]]
    """Keeps a note, small and plain JSON; raises `UnitLost` when the unit is not ours any more."""
    progress: Callable[[int], None]
    """Reports, from any thread, how many milliseconds of the file are done."""


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
"""By name of the type; `step_type.open_runners` puts them together."""
