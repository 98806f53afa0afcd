"""count_tracks: counts tracks of a type in earlier steps. A step type for tests only.

It is written like every step type: in one module, without changes elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from framekiln.pipelines.definition.model import Step, StepSettings
from framekiln.pipelines.definition.step_rules import DefinitionWarning, TypedGraph
from framekiln.pipelines.execution.step_type import StepServices, StepType, StepWork
from framekiln.pipelines.jobs import STEPS_QUEUE
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.pipelines.schema.field_types import IntegerBetween
from framekiln.pipelines.schema.issues import IssueCode, Location


@dataclass(frozen=True, kw_only=True)
class CountTracksSettings(StepSettings):
    """`with` of a count_tracks step."""

    track_type: Literal["audio", "video"]
    maximum: Annotated[int, IntegerBetween(1, 100)] = 10


class CountTracksStep(StepType):
    """Counts in the outputs of earlier steps."""

    name = "count_tracks"
    settings = CountTracksSettings

    def check(self, step: Step, steps: TypedGraph, place: Location) -> None:
        """Report a step without earlier steps to count in."""
        if not step.needs:
            (place / "needs").report(IssueCode.EMPTY)

    def warnings(
        self, key: str, written: Mapping[str, Any], steps: TypedGraph
    ) -> Iterable[DefinitionWarning]:
        """Warn of a count that ends early."""
        if written["with"].get("maximum") == 1:
            yield DefinitionWarning(f"steps.{key}.with.maximum", "small", "one is counted at most")

    def queue(self, media: MediaState) -> str:
        """Return a queue other than the type's default."""
        return STEPS_QUEUE

    def open_runner(self, services: StepServices) -> "CountTracksRunner":
        """Return the runner of count_tracks steps."""
        return CountTracksRunner()


STEP_TYPE: Final = CountTracksStep()


class CountTracksRunner:
    """Runs count_tracks steps."""

    async def run(self, work: StepWork) -> StepOutput:
        """Return the count."""
        settings = work.step.settings
        assert isinstance(settings, CountTracksSettings)
        found = [
            track
            for output in work.inputs.values()
            for track in output.metadata["tracks"]
            if track["type"] == settings.track_type
        ]
        return StepOutput({"count": min(len(found), settings.maximum)})
