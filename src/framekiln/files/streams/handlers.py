"""Job handler of streams: makes the track files, index and overview of a sealed stream."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.files.handlers import (
    SOURCE,
    PrepareVideo,
    ProcessingResult,
    ProgressRange,
    make_overview,
)
from framekiln.files.model import MAX_BYTES, File, FileType
from framekiln.files.streams.assembly import ASSEMBLY_TASK
from framekiln.files.streams.fragment_reader import fetch_fragments
from framekiln.files.streams.model import Stream, stream_prefix
from framekiln.files.streams.service import Streams
from framekiln.jobs.progress import ProgressReporter
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.tracks.split import track_path

_FINISH_LIMITS: Final = ResourceLimits(
    cpu_s=8 * 3600, memory_bytes=4 << 30, file_bytes=2 * MAX_BYTES[FileType.VIDEO], wall_s=4 * 3600
)
# The start of each step, in thousandths of all the work.
_FINISH_AT: Final = 100
_OVERVIEW_AT: Final = 800
_STORE_AT: Final = 950


@dataclass(frozen=True)
class AssembleStream(PrepareVideo):
    """Handles `file.assemble` jobs."""

    streams: Streams

    async def _process(
        self, file: File, folder: Path, progress: ProgressReporter[int]
    ) -> ProcessingResult:
        """Join the fragments into track files, and make the other files from them."""
        stream = await self.streams.find(file.organization_id, file.id)
        await self._write_track_files(stream, folder)
        progress.report(_FINISH_AT)
        result = await run_confined(
            ASSEMBLY_TASK,
            {
                "folder": ".",
                "source": SOURCE,
                "track_ids": [each.track_id for each in stream.tracks],
            },
            limits=_FINISH_LIMITS,
            folder=folder,
            on_report=ProgressRange(progress, _FINISH_AT, _OVERVIEW_AT).report,
        )
        progress.report(_OVERVIEW_AT)
        await make_overview(folder, ProgressRange(progress, _OVERVIEW_AT, _STORE_AT))
        progress.report(_STORE_AT)
        return ProcessingResult.from_child(
            result, "video/mp4" if result["width_px"] else "audio/mp4"
        )

    def _input_prefix(self, owner: OrganizationId, file_id: FileId) -> str:
        return stream_prefix(owner, file_id)

    async def _write_track_files(self, stream: Stream, folder: Path) -> None:
        """Write the track files: the init segment and all fragments, unchanged."""
        fragments = await self.streams.fragments(stream.file.organization_id, stream.file.id)
        track_path(folder, 0).parent.mkdir()
        for track in stream.tracks:
            own = [each for each in fragments if each.track_id == track.track_id]
            await fetch_fragments(self.blobs, stream, own, track_path(folder, track.track_id))
