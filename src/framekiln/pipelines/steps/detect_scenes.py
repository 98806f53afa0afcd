"""detect_scenes: where one shot ends and the next begins."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from framekiln.kit.confined.job_folders import JobFolders, open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.media.task_names import SCENE_CUTS_TASK
from framekiln.pipelines.definition.model import StepSettings
from framekiln.pipelines.execution.step_media import StepMedia
from framekiln.pipelines.execution.step_type import StepServices, StepType, StepWork
from framekiln.pipelines.jobs import STEPS_QUEUE
from framekiln.pipelines.outputs.model import MAX_ANNOTATIONS, Annotation, StepOutput
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.pipelines.schema.field_types import Number, NumberBetween

_LIMITS: Final = ResourceLimits(
    cpu_s=4 * 3600, memory_bytes=2 << 30, file_bytes=1 << 20, wall_s=2 * 3600
)
# Fragments like to begin with a new shot: only with the one before it can that be seen.
_LEAD_MS: Final = 1


@dataclass(frozen=True, kw_only=True)
class DetectScenesSettings(StepSettings):
    """`with` of a detect_scenes step."""

    threshold: Annotated[Number, NumberBetween(0.01, 1)] = 0.3
    """How much must change, as a fraction of the most that can."""


class DetectScenesStep(StepType):
    """Finds cuts."""

    name = "detect_scenes"
    settings = DetectScenesSettings
    segmentable = True

    def queue(self, media: MediaState) -> str:
        """Return the queue of what decodes."""
        return STEPS_QUEUE

    def open_runner(self, services: StepServices) -> "DetectScenesRunner":
        """Return what runs detect_scenes steps."""
        return DetectScenesRunner(StepMedia.of(services))


STEP_TYPE: Final = DetectScenesStep()


@dataclass(frozen=True)
class DetectScenesRunner:
    """Runs detect_scenes steps."""

    media: StepMedia

    async def run(self, work: StepWork) -> StepOutput:
        """Return an annotation for each cut."""
        with open_job_folders("scenes") as place:
            if not await self.media.fetch(work, "video", place.source, lead_ms=_LEAD_MS):
                return _output([], 0)
            return _output(*await self._find(work, place))

    async def _find(self, work: StepWork, place: JobFolders) -> tuple[list[dict[str, Any]], int]:
        """Return the first cuts, and the number of all."""
        settings, window = work.step.settings, work.window
        assert isinstance(settings, DetectScenesSettings)
        result = await run_confined(
            SCENE_CUTS_TASK,
            {
                "source": str(place.source),
                "threshold": settings.threshold,
                "from_ms": window.start_ms if window else 0,
                "until_ms": window.end_ms if window else None,
                "most": MAX_ANNOTATIONS,
            },
            limits=_LIMITS,
            folder=place.folder,
            readable=[place.source],
            on_report=lambda report: work.progress(int(report["at_ms"])),
        )
        return result["cuts"], int(result["cut_count"])


def _output(cuts: list[dict[str, Any]], cut_count: int) -> StepOutput:
    metadata = {"cut_count": cut_count, "truncated": len(cuts) < cut_count}
    return StepOutput(
        metadata,
        tuple(
            Annotation(
                kind="scene.cut",
                start_ms=cut["at_ms"],
                end_ms=cut["at_ms"],
                confidence=cut["score"],
            )
            for cut in cuts
        ),
    )
