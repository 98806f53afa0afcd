"""The job that makes an uploaded video ready: the original in one piece, its tracks, the index."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.files.content import check_type
from framekiln.files.joining import check_md5, join_to_file
from framekiln.files.making_ready import SOURCE, Made, MakeReady, Stretch, make_overview
from framekiln.files.model import MAX_BYTES, OWN_CONTENT, File, FileType, parts_prefix
from framekiln.jobs.reports import Reports
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import FileId, OrganizationId

# An hour of film in a codec that has to be encoded anew takes about as long on a slow machine.
_SPLIT_LIMITS: Final = Limits(
    cpu_s=8 * 3600, memory_bytes=4 << 30, file_bytes=8 * MAX_BYTES[FileType.VIDEO], wall_s=4 * 3600
)
# Where each step begins, in thousandths of all the work.
_SPLIT_AT: Final = 100
_OVERVIEW_AT: Final = 850
_STORE_AT: Final = 950


@dataclass(frozen=True)
class ProcessFile(MakeReady):
    """Handles `file.process` jobs."""

    async def _make(self, file: File, folder: Path, progress: Reports[int]) -> Made:
        """Put the original together, check it, and make tracks and index of it."""
        source = folder / SOURCE
        size = file.byte_size or 1
        md5 = await join_to_file(
            self.blobs,
            await self.work.parts(file.id),
            source,
            on_bytes=lambda done: progress.note(done * _SPLIT_AT // size),
        )
        check_md5(file, md5)
        media_type = check_type(file.type, source)
        told = await run_confined(
            "framekiln.media.splitting.split:task",
            {"source": source.name, "folder": "."},
            limits=_SPLIT_LIMITS,
            folder=folder,
            on_report=Stretch(progress, _SPLIT_AT, _OVERVIEW_AT).note,
        )
        await make_overview(folder, Stretch(progress, _OVERVIEW_AT, _STORE_AT))
        progress.note(_STORE_AT)
        return Made.of(told, media_type)

    def _material(self, owner: OrganizationId, file_id: FileId) -> str:
        return parts_prefix(owner, file_id, OWN_CONTENT)
