"""The job that makes a sealed stream ready: its track files, their index, what goes with them.

Strangers' bytes are decoded in confined children only. Runs again from the start after a crash:
every blob is replaced whole, and only the worker that holds the file may make it ready.
"""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import structlog

from framekiln.files.model import (
    MAX_BYTES,
    File,
    FileType,
    file_prefix,
    index_key,
    source_key,
    thumbnails_key,
    track_key,
    waveform_key,
)
from framekiln.files.processing import Made
from framekiln.files.streams.finishing import SOURCE
from framekiln.files.streams.model import Stream, StreamedFragment, stream_prefix
from framekiln.files.streams.reading import fetch_stretch
from framekiln.files.streams.service import Streams
from framekiln.files.work import FileWork, TakenFile
from framekiln.jobs.ending import Failure, failing_for_good, patiently
from framekiln.jobs.model import JobContext
from framekiln.jobs.reports import Reports
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.overviews.overview import THUMBNAILS, WAVEFORM
from framekiln.media.splitting.split import INDEX_NAME, track_path
from framekiln.storage.blob_store import BlobStore

_FINISH_LIMITS: Final = Limits(
    cpu_s=8 * 3600, memory_bytes=4 << 30, file_bytes=2 * MAX_BYTES[FileType.VIDEO], wall_s=4 * 3600
)
_OVERVIEW_LIMITS: Final = Limits(
    cpu_s=3600, memory_bytes=2 << 30, file_bytes=256 << 20, wall_s=1800
)
# Where each step begins, in thousandths of all the work.
_FINISH_AT: Final = 100
_OVERVIEW_AT: Final = 800
_STORE_AT: Final = 950

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class AssembleStream:
    """Handles `file.assemble` jobs."""

    work: FileWork
    streams: Streams
    blobs: BlobStore

    async def __call__(self, job: JobContext) -> None:
        """Make a sealed stream ready, or say why that cannot be."""
        file_id = FileId(UUID(job.args["file_id"]))
        owner = OrganizationId(UUID(job.args["organization_id"]))
        async with failing_for_good(job, partial(self._fail, owner, file_id)):
            taken = await self.work.take(file_id)
            if taken is not None:
                await self._assemble(taken)

    async def _assemble(self, taken: TakenFile) -> None:
        file = taken.file
        with tempfile.TemporaryDirectory(prefix="framekiln-stream-") as name:
            folder = Path(name)
            async with Reports[int](partial(self.work.report, file.id)) as progress:
                made = await self._make(file, folder, progress)
            if await self.work.is_mine(taken):
                await self._store(file, folder)
        if await patiently(lambda: self.work.complete(taken, made.facts, made.tracks)):
            await self.blobs.delete_prefix(stream_prefix(file.organization_id, file.id))
        elif not await self.work.is_wanted(file):
            # Deleted or expired while we worked, and we have stored something since.
            await self.blobs.delete_prefix(file_prefix(file.organization_id, file.id))

    async def _make(self, file: File, folder: Path, progress: Reports[int]) -> Made:
        stream = await self.streams.find(file.organization_id, file.id)
        await self._put_together(stream, folder)
        progress.note(_FINISH_AT)
        told = await run_confined(
            "framekiln.files.streams.finishing:task",
            {"folder": ".", "track_ids": [track.track_id for track in stream.tracks]},
            limits=_FINISH_LIMITS,
            folder=folder,
            on_report=lambda told: progress.note(_finished(told)),
        )
        progress.note(_OVERVIEW_AT)
        await self._make_overview(folder)
        progress.note(_STORE_AT)
        return Made.of(told, "video/mp4" if told["width_px"] else "audio/mp4")

    async def _put_together(self, stream: Stream, folder: Path) -> None:
        """Write the track files: the init segment and all fragments, as they came."""
        fragments = await self.streams.fragments(stream.file.organization_id, stream.file.id)
        track_path(folder, 0).parent.mkdir()
        for track in stream.tracks:
            own: list[StreamedFragment] = [
                each for each in fragments if each.track_id == track.track_id
            ]
            await fetch_stretch(self.blobs, stream, own, track_path(folder, track.track_id))

    async def _make_overview(self, folder: Path) -> None:
        """Make thumbnails and waveform; a file is ready without them too."""
        try:
            await run_confined(
                "framekiln.media.overviews.overview:task",
                {"source": SOURCE, "folder": "."},
                limits=_OVERVIEW_LIMITS,
                folder=folder,
            )
        except FramekilnError as error:
            log.warning("no overview", code=error.code, reason=error.message)

    async def _store(self, file: File, folder: Path) -> None:
        organization_id, file_id = file.organization_id, file.id
        paths = {
            source_key(organization_id, file_id): folder / SOURCE,
            index_key(organization_id, file_id): folder / INDEX_NAME,
            thumbnails_key(organization_id, file_id): folder / THUMBNAILS,
            waveform_key(organization_id, file_id): folder / WAVEFORM,
        }
        for path in track_path(folder, 0).parent.glob("*.mp4"):
            paths[track_key(organization_id, file_id, int(path.stem))] = path
        for key, path in paths.items():
            if path.is_file():
                await self.blobs.put_file(key, path)

    async def _fail(self, owner: OrganizationId, file_id: FileId, failure: Failure) -> None:
        if await self.work.fail(file_id, failure):
            await self.blobs.delete_prefix(stream_prefix(owner, file_id))


def _finished(told: dict[str, Any]) -> int:
    """Return where the child is in the whole; what it tells may be anything."""
    part = told.get("progress")
    if not isinstance(part, int | float):
        return _FINISH_AT
    return _FINISH_AT + int(max(0.0, min(1.0, part)) * (_OVERVIEW_AT - _FINISH_AT))
