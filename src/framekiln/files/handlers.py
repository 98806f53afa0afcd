"""Job handlers of files: process an upload into tracks, an index and an overview.

`PrepareVideo` is also the base of the handler of streams. Uploaded bytes are decoded only in
confined children. After a crash a job runs again from the start: it replaces whole blobs, and only
the worker that has taken the file may make it ready.
"""

import asyncio
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import structlog

from framekiln.files.content import check_type
from framekiln.files.frame_times import has_valid_times
from framekiln.files.model import (
    MAX_BYTES,
    OWN_CONTENT,
    File,
    FileFacts,
    FileType,
    NewTrack,
    file_prefix,
    frame_times_key,
    index_key,
    parts_prefix,
    source_key,
    thumbnails_key,
    track_key,
    waveform_key,
)
from framekiln.files.part_join import check_md5, write_joined
from framekiln.files.worker import FileWorker, TakenFile
from framekiln.jobs.failures import Failure, fail_on_last_attempt, retry_while_database_down
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import ProgressReporter, WorkUnwanted, run_while_wanted
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.analysis.frame_times import FRAME_TIMES
from framekiln.media.analysis.overview import THUMBNAILS, WAVEFORM
from framekiln.media.task_names import OVERVIEW_TASK, SPLIT_TASK
from framekiln.media.tracks.split import INDEX_NAME, track_path
from framekiln.storage.blob_store import BlobStore

SOURCE: Final = "source"
"""The name of the whole video in the work folder."""
_OVERVIEW_LIMITS: Final = ResourceLimits(
    cpu_s=3600, memory_bytes=2 << 30, file_bytes=256 << 20, wall_s=1800
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ProcessingResult:
    """The result of processing a video."""

    facts: FileFacts
    tracks: list[NewTrack]

    @classmethod
    def from_child(cls, result: dict[str, Any], media_type: str) -> "ProcessingResult":
        """Read the result of the confined child that made the tracks."""
        tracks = [*result["tracks"], *([result["scrub"]] if result["scrub"] else [])]
        facts = FileFacts(
            media_type, result["width_px"], result["height_px"], result["duration_ms"]
        )
        return cls(facts, [_track(each) for each in tracks])


@dataclass(frozen=True)
class ProgressRange:
    """A part of the work, in thousandths of all of it."""

    progress: ProgressReporter[int]
    start: int
    end: int

    def report(self, message: dict[str, Any]) -> None:
        """Report the progress of a confined child, whose message is not trusted."""
        part = message.get("progress")
        if isinstance(part, int | float):
            self.progress.report(
                self.start + int(max(0.0, min(1.0, part)) * (self.end - self.start))
            )


@dataclass(frozen=True)
class PrepareVideo(ABC):
    """Handles the jobs that make a video ready; subclasses make the tracks."""

    worker: FileWorker
    blobs: BlobStore

    async def __call__(self, job: JobContext) -> None:
        """Make a file ready, or record why it failed."""
        file_id = FileId(UUID(job.args["file_id"]))
        owner = OrganizationId(UUID(job.args["organization_id"]))
        async with fail_on_last_attempt(job, partial(self._fail, owner, file_id)):
            taken = await self.worker.take(file_id, attempt=job.attempt)
            if taken is not None:
                await self._prepare(taken)

    @abstractmethod
    async def _process(
        self, file: File, folder: Path, progress: ProgressReporter[int]
    ) -> ProcessingResult:
        """Write source, tracks, index and overview into the folder."""

    @abstractmethod
    def _input_prefix(self, owner: OrganizationId, file_id: FileId) -> str:
        """Return the prefix of the input blobs, deleted when the file is ready."""

    async def _prepare(self, taken: TakenFile) -> None:
        file = taken.file
        with tempfile.TemporaryDirectory(prefix="framekiln-file-") as name:
            folder = Path(name)
            try:
                made = await run_while_wanted(
                    self._process_with_progress(file, folder),
                    lambda: self.worker.is_still_taken(taken),
                )
            except WorkUnwanted:
                log.info("files.work_stopped", file_id=str(file.id))
                return
            if await self.worker.is_still_taken(taken):
                await self._store(file, folder)
        unused = f"{self._input_prefix(file.organization_id, file.id)}/"
        is_ready = await retry_while_database_down(
            lambda: self.worker.complete(taken, made.facts, made.tracks, unused=unused)
        )
        if not is_ready and not await self.worker.is_needed(file):
            # It was deleted or expired during the work, and blobs were stored since.
            await self.blobs.delete_prefix(file_prefix(file.organization_id, file.id))

    async def _process_with_progress(self, file: File, folder: Path) -> ProcessingResult:
        async with ProgressReporter[int](partial(self.worker.report, file.id)) as progress:
            return await self._process(file, folder, progress)

    async def _store(self, file: File, folder: Path) -> None:
        """Store the content of the folder; some files have no overview.

        It is never cancelled halfway: what a store leaves behind then, nobody would delete.
        """
        owner, file_id = file.organization_id, file.id
        paths = {
            source_key(owner, file_id): folder / SOURCE,
            index_key(owner, file_id): folder / INDEX_NAME,
            thumbnails_key(owner, file_id): folder / THUMBNAILS,
            waveform_key(owner, file_id): folder / WAVEFORM,
        }
        # The api parses them. A compromised child may have written anything.
        if await asyncio.to_thread(has_valid_times, folder / FRAME_TIMES):
            paths[frame_times_key(owner, file_id)] = folder / FRAME_TIMES
        for path in track_path(folder, 0).parent.glob("*.mp4"):
            paths[track_key(owner, file_id, int(path.stem))] = path
        for key, path in paths.items():
            if path.is_file():
                await self.blobs.put_file(key, path)

    async def _fail(self, owner: OrganizationId, file_id: FileId, failure: Failure) -> None:
        unused = f"{self._input_prefix(owner, file_id)}/", source_key(owner, file_id)
        await self.worker.fail(file_id, failure, unused=unused)


async def make_overview(folder: Path, progress: ProgressRange) -> None:
    """Make thumbnails and waveform of the source; a file can be ready without them."""
    try:
        await run_confined(
            OVERVIEW_TASK,
            {"source": SOURCE, "folder": "."},
            limits=_OVERVIEW_LIMITS,
            folder=folder,
            on_report=progress.report,
        )
    except FramekilnError as error:
        log.warning("files.overview_failed", code=error.code, reason=error.message)


def _track(track: dict[str, Any]) -> NewTrack:
    return NewTrack(
        track_id=track["track_id"],
        type=track["type"],
        codec_name=track["codec_name"],
        duration_ms=track["duration_ms"],
        byte_size=track["byte_size"],
        probe_info=track["probe_info"],
    )


# Re-encoding an hour of video takes about an hour on a slow machine.
_SPLIT_LIMITS: Final = ResourceLimits(
    cpu_s=8 * 3600, memory_bytes=4 << 30, file_bytes=8 * MAX_BYTES[FileType.VIDEO], wall_s=4 * 3600
)
# The start of each step, in thousandths of all the work.
_SPLIT_AT: Final = 100
_OVERVIEW_AT: Final = 850
_STORE_AT: Final = 950


@dataclass(frozen=True)
class ProcessFile(PrepareVideo):
    """Handles `file.process` jobs."""

    async def _process(
        self, file: File, folder: Path, progress: ProgressReporter[int]
    ) -> ProcessingResult:
        """Join the original, check it, and make tracks and an index from it."""
        source = folder / SOURCE
        size = file.byte_size or 1
        md5 = await write_joined(
            self.blobs,
            await self.worker.upload_parts(file.id),
            source,
            on_bytes=lambda done: progress.report(done * _SPLIT_AT // size),
        )
        check_md5(file, md5)
        media_type = check_type(file.type, source)
        result = await run_confined(
            SPLIT_TASK,
            {"source": source.name, "folder": "."},
            limits=_SPLIT_LIMITS,
            folder=folder,
            on_report=ProgressRange(progress, _SPLIT_AT, _OVERVIEW_AT).report,
        )
        await make_overview(folder, ProgressRange(progress, _OVERVIEW_AT, _STORE_AT))
        progress.report(_STORE_AT)
        return ProcessingResult.from_child(result, media_type)

    def _input_prefix(self, owner: OrganizationId, file_id: FileId) -> str:
        return parts_prefix(owner, file_id, OWN_CONTENT)
