"""probe: what is known of a file since it was processed. Opens nothing."""

from dataclasses import dataclass
from typing import Any

from framekiln.files.model import File, Track
from framekiln.files.service import Files
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.runners.step import StepWork


@dataclass(frozen=True)
class Probe:
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


def describe_track(track: Track) -> dict[str, Any]:
    """Return a track as steps and endpoints are told; what a probe did not say is left out."""
    described: dict[str, Any] = {
        "track_id": track.track_id,
        "type": track.type,
        "codec": track.codec_name,
        "duration_ms": track.duration_ms,
    }
    names = ("width", "height") if track.type == "video" else ("sample_rate", "channels")
    for name in names:
        value = track.probe_info.get(name)
        # ffprobe writes some numbers as text.
        if isinstance(value, int | str) and str(value).isdecimal():
            described[name] = int(value)
    return described
