"""sample_frames: the picture on screen at each multiple of a time, kept as JPEGs with the file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from framekiln.files.errors import FileNotFound
from framekiln.files.model import sampled_frame_key, sampled_frames_prefix
from framekiln.files.service import Files
from framekiln.kit.confined.job_folders import JobFolders, open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.media.task_names import SAMPLED_FRAMES_TASK
from framekiln.pipelines.definition.model import StepSettings
from framekiln.pipelines.execution.step_media import StepMedia
from framekiln.pipelines.execution.step_type import StepServices, StepType, StepWork
from framekiln.pipelines.jobs import STEPS_QUEUE
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.pipelines.schema.field_types import IntegerBetween
from framekiln.storage.blob_store import BlobStore

_LIMITS: Final = ResourceLimits(
    cpu_s=4 * 3600, memory_bytes=2 << 30, file_bytes=64 << 20, wall_s=2 * 3600
)
_AT_A_TIME: Final = 200
"""So many pictures lie on the disk before they are stored."""


@dataclass(frozen=True, kw_only=True)
class SampleFramesSettings(StepSettings):
    """`with` of a sample_frames step."""

    every_ms: Annotated[int, IntegerBetween(100, 600_000)] = 1000


class SampleFramesStep(StepType):
    """Takes pictures."""

    name = "sample_frames"
    settings = SampleFramesSettings
    segmentable = True
    samples_frames = True

    def queue(self, media: MediaState) -> str:
        """Return the queue of what decodes."""
        return STEPS_QUEUE

    def frame_times(self, metadata: Mapping[str, Any]) -> range:
        """Return when the pictures were taken that an output speaks of."""
        first_ms, every_ms = metadata.get("first_ms") or 0, metadata["every_ms"]
        return range(first_ms, first_ms + metadata["frame_count"] * every_ms, every_ms)

    def open_runner(self, services: StepServices) -> "SampleFramesRunner":
        """Return what runs sample_frames steps."""
        return SampleFramesRunner(StepMedia.of(services), services.files, services.blobs)


STEP_TYPE: Final = SampleFramesStep()


@dataclass(frozen=True)
class SampleFramesRunner:
    """Runs sample_frames steps."""

    media: StepMedia
    files: Files
    blobs: BlobStore

    async def run(self, work: StepWork) -> StepOutput:
        """Keep the pictures, and return how many there are."""
        settings = work.step.settings
        assert isinstance(settings, SampleFramesSettings)
        every_ms = settings.every_ms
        times_ms: list[int] = []
        with open_job_folders("frames") as place:
            if await self.media.fetch(work, "video", place.source):
                for part in _parts(_span_of(work), every_ms):
                    times_ms += await self._sample(work, place, every_ms=every_ms, part=part)
                    work.progress(part.stop)
        return StepOutput(_metadata(every_ms, times_ms))

    async def _sample(
        self, work: StepWork, place: JobFolders, *, every_ms: int, part: range
    ) -> list[int]:
        result = await run_confined(
            SAMPLED_FRAMES_TASK,
            {
                "source": str(place.source),
                "folder": ".",
                "every_ms": every_ms,
                "from_ms": part.start,
                "until_ms": part.stop,
            },
            limits=_LIMITS,
            folder=place.folder,
            readable=[place.source],
        )
        taken = set(result["at_ms"])
        times_ms = [at_ms for at_ms in part if at_ms in taken]
        await self._store(work, place.folder, times_ms)
        return times_ms

    async def _store(self, work: StepWork, folder: Path, times_ms: list[int]) -> None:
        organization_id, file_id = work.file.organization_id, work.file.id
        for at_ms in times_ms:
            path = folder / f"{at_ms}.jpg"
            await self.blobs.put_file(sampled_frame_key(organization_id, file_id, at_ms), path)
            path.unlink()
        try:
            await self.files.get(organization_id, file_id)
        except FileNotFound:
            # Deleted while we worked, and we have stored something since.
            await self.blobs.delete_prefix(sampled_frames_prefix(organization_id, file_id))
            raise


def _span_of(work: StepWork) -> tuple[int, int]:
    """Return from when up to when a step takes pictures."""
    if work.window is not None:
        return work.window.start_ms, work.window.end_ms
    return 0, max(1, work.file.duration_ms or 0)


def _metadata(every_ms: int, times_ms: list[int]) -> dict[str, Any]:
    return {
        "every_ms": every_ms,
        "frame_count": len(times_ms),
        "first_ms": times_ms[0] if times_ms else None,
    }


def _parts(span: tuple[int, int], every_ms: int) -> list[range]:
    """Return the multiples that lie in a span, a few at a time."""
    start_ms, end_ms = span
    times = range(-(-start_ms // every_ms) * every_ms, end_ms, every_ms)
    pieces = (times[at : at + _AT_A_TIME] for at in range(0, len(times), _AT_A_TIME))
    return [range(each.start, min(each.stop, end_ms), every_ms) for each in pieces]
