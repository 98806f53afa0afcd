"""The job that makes a sealed stream ready: its track files, their index, what goes with them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.files.making_ready import SOURCE, Made, MakeReady, Stretch, make_overview
from framekiln.files.model import MAX_BYTES, File, FileType
from framekiln.files.streams.model import Stream, stream_prefix
from framekiln.files.streams.reading import fetch_stretch
from framekiln.files.streams.service import Streams
from framekiln.jobs.reports import Reports
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.splitting.split import track_path

_FINISH_LIMITS: Final = Limits(
    cpu_s=8 * 3600, memory_bytes=4 << 30, file_bytes=2 * MAX_BYTES[FileType.VIDEO], wall_s=4 * 3600
)
# Where each step begins, in thousandths of all the work.
_FINISH_AT: Final = 100
_OVERVIEW_AT: Final = 800
_STORE_AT: Final = 950


@dataclass(frozen=True)
class AssembleStream(MakeReady):
    """Handles `file.assemble` jobs."""

    streams: Streams

    async def _make(self, file: File, folder: Path, progress: Reports[int]) -> Made:
        """Put the tracks together as they came, and make of them what else there is."""
        stream = await self.streams.find(file.organization_id, file.id)
        await self._put_together(stream, folder)
        progress.note(_FINISH_AT)
        told = await run_confined(
            "framekiln.files.streams.finishing:task",
            {
                "folder": ".",
                "source": SOURCE,
                "track_ids": [each.track_id for each in stream.tracks],
            },
            limits=_FINISH_LIMITS,
            folder=folder,
            on_report=Stretch(progress, _FINISH_AT, _OVERVIEW_AT).note,
        )
        progress.note(_OVERVIEW_AT)
        await make_overview(folder, Stretch(progress, _OVERVIEW_AT, _STORE_AT))
        progress.note(_STORE_AT)
        return Made.of(told, "video/mp4" if told["width_px"] else "audio/mp4")

    def _material(self, owner: OrganizationId, file_id: FileId) -> str:
        return stream_prefix(owner, file_id)

    async def _put_together(self, stream: Stream, folder: Path) -> None:
        """Write the track files: the init segment and all fragments, as they came."""
        fragments = await self.streams.fragments(stream.file.organization_id, stream.file.id)
        track_path(folder, 0).parent.mkdir()
        for track in stream.tracks:
            own = [each for each in fragments if each.track_id == track.track_id]
            await fetch_stretch(self.blobs, stream, own, track_path(folder, track.track_id))
