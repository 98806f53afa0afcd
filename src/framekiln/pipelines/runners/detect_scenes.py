"""detect_scenes: where one shot ends and the next begins."""

from dataclasses import dataclass
from typing import Any, Final

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.confined.workplace import Workplace, open_workplace
from framekiln.pipelines.definition.steps import detect_scenes
from framekiln.pipelines.outputs.model import MAX_ANNOTATIONS, Annotation, StepOutput
from framekiln.pipelines.runners.step import StepWork
from framekiln.pipelines.runners.step_media import StepMedia

_LIMITS: Final = ResourceLimits(
    cpu_s=4 * 3600, memory_bytes=2 << 30, file_bytes=1 << 20, wall_s=2 * 3600
)
# Fragments like to begin with a new shot: only with the one before it can that be seen.
_LEAD_MS: Final = 1


@dataclass(frozen=True)
class DetectScenes:
    """Runs detect_scenes steps."""

    media: StepMedia

    async def run(self, work: StepWork) -> StepOutput:
        """Return an annotation for each cut."""
        with open_workplace("scenes") as place:
            if not await self.media.fetch(work, "video", place.source, lead_ms=_LEAD_MS):
                return _output([])
            return _output(await self._find(work, place))

    async def _find(self, work: StepWork, place: Workplace) -> list[dict[str, Any]]:
        settings, window = work.step.settings, work.window
        assert isinstance(settings, detect_scenes.Settings)
        told = await run_confined(
            "framekiln.media.analysis.scene_cuts:scene_cuts_task",
            {
                "source": str(place.source),
                "threshold": settings.threshold,
                "from_ms": window.start_ms if window else 0,
                "until_ms": window.end_ms if window else None,
            },
            limits=_LIMITS,
            folder=place.folder,
            readable=[place.source],
            on_report=lambda told: work.progress(int(told["at_ms"])),
        )
        cuts: list[dict[str, Any]] = told["cuts"]
        return cuts


def _output(cuts: list[dict[str, Any]]) -> StepOutput:
    kept = cuts[:MAX_ANNOTATIONS]
    metadata = {"cut_count": len(cuts), "truncated": len(kept) < len(cuts)}
    return StepOutput(
        metadata,
        tuple(
            Annotation(
                kind="scene.cut",
                start_ms=cut["at_ms"],
                end_ms=cut["at_ms"],
                confidence=cut["score"],
            )
            for cut in kept
        ),
    )
