"""probe: what is known of a file since it was processed. Opens nothing."""

from dataclasses import dataclass
from typing import Any, Final

from framekiln.files.model import File, Track
from framekiln.files.service import Files
from framekiln.pipelines.execution.step_type import StepServices, StepType, StepWork
from framekiln.pipelines.execution.track_description import describe_track
from framekiln.pipelines.outputs.model import StepOutput


class ProbeStep(StepType):
    """Returns duration, size and tracks."""

    name = "probe"

    def open_runner(self, services: StepServices) -> "ProbeRunner":
        """Return what runs probe steps."""
        return ProbeRunner(services.files)


STEP_TYPE: Final = ProbeStep()


@dataclass(frozen=True)
class ProbeRunner:
    """Runs probe steps."""

    files: Files

    async def run(self, work: StepWork) -> StepOutput:
        """Return length, size and tracks."""
        self.files.check_readable(work.file)
        tracks = await self.files.tracks(work.file.organization_id, work.file.id)
        shown = [track for track in tracks if track.track_id > 0 and track.is_complete]
        return StepOutput(_metadata(work.file, shown))


def _metadata(file: File, tracks: list[Track]) -> dict[str, Any]:
    return {
        "duration_ms": file.duration_ms,
        "width": file.width_px,
        "height": file.height_px,
        "has_video": any(track.type == "video" for track in tracks),
        "has_audio": any(track.type == "audio" for track in tracks),
        "source": {
            "filename": file.filename,
            "byte_size": file.byte_size,
            "media_type": file.media_type,
        },
        "tracks": [describe_track(track) for track in tracks],
    }
