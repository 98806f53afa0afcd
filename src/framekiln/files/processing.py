"""The job that makes an uploaded video ready: its original in one piece, its tracks, their index.

Strangers' bytes are opened in confined children only. Runs again from the start after a crash:
every blob is replaced whole, and only the worker that holds the file may make it ready.
"""

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import structlog

from framekiln.files.content import check_type
from framekiln.files.joining import check_md5, join_to_file
from framekiln.files.model import (
    MAX_BYTES,
    OWN_CONTENT,
    Facts,
    File,
    FileType,
    NewTrack,
    file_prefix,
    index_key,
    parts_prefix,
    source_key,
    thumbnails_key,
    track_key,
    waveform_key,
)
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

# An hour of film in a codec that has to be encoded anew takes about as long on a slow machine.
_SPLIT_LIMITS: Final = Limits(
    cpu_s=8 * 3600, memory_bytes=4 << 30, file_bytes=8 * MAX_BYTES[FileType.VIDEO], wall_s=4 * 3600
)
_OVERVIEW_LIMITS: Final = Limits(
    cpu_s=3600, memory_bytes=2 << 30, file_bytes=256 << 20, wall_s=1800
)
# Where each step begins, in thousandths of all the work.
_SPLIT_AT: Final = 100
_OVERVIEW_AT: Final = 850
_STORE_AT: Final = 950

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ProcessFile:
    """Handles `file.process` jobs."""

    work: FileWork
    blobs: BlobStore

    async def __call__(self, job: JobContext) -> None:
        """Make a file ready, or say why that cannot be."""
        file_id = FileId(UUID(job.args["file_id"]))
        owner = OrganizationId(UUID(job.args["organization_id"]))
        async with failing_for_good(job, partial(self._fail, owner, file_id)):
            taken = await self.work.take(file_id)
            if taken is not None:
                await self._process(taken)

    async def _process(self, taken: TakenFile) -> None:
        file = taken.file
        with tempfile.TemporaryDirectory(prefix="framekiln-file-") as name:
            folder = Path(name)
            async with Reports[int](partial(self.work.report, file.id)) as progress:
                made = await self._make(file, folder, progress)
            if await self.work.is_mine(taken):
                await self._store(file, folder)
        if await patiently(lambda: self.work.complete(taken, made.facts, made.tracks)):
            await self.blobs.delete_prefix(_parts_of(file.organization_id, file.id))
        elif not await self.work.is_wanted(file):
            # Deleted or expired while we worked, and we have stored something since.
            await self.blobs.delete_prefix(file_prefix(file.organization_id, file.id))

    async def _make(self, file: File, folder: Path, progress: Reports[int]) -> "Made":
        """Put the original together, check it, and make tracks and index of it."""
        source = folder / "source"
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
            on_report=lambda told: progress.note(_between(_SPLIT_AT, _OVERVIEW_AT, told)),
        )
        await self._make_overview(folder, progress)
        progress.note(_STORE_AT)
        return Made.of(told, media_type)

    async def _make_overview(self, folder: Path, progress: Reports[int]) -> None:
        """Make thumbnails and waveform; a file is ready without them too."""
        try:
            await run_confined(
                "framekiln.media.overviews.overview:task",
                {"source": "source", "folder": "."},
                limits=_OVERVIEW_LIMITS,
                folder=folder,
                on_report=lambda told: progress.note(_between(_OVERVIEW_AT, _STORE_AT, told)),
            )
        except FramekilnError as error:
            log.warning("no overview", code=error.code, reason=error.message)

    async def _store(self, file: File, folder: Path) -> None:
        organization_id, file_id = file.organization_id, file.id
        paths = {
            source_key(organization_id, file_id): folder / "source",
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
            await self.blobs.delete_prefix(_parts_of(owner, file_id))
            await self.blobs.delete(source_key(owner, file_id))


@dataclass(frozen=True)
class Made:
    """What came of a video."""

    facts: Facts
    tracks: list[NewTrack]

    @classmethod
    def of(cls, told: dict[str, Any], media_type: str) -> "Made":
        """Read what the splitting child told."""
        tracks = [*told["tracks"], *([told["scrub"]] if told["scrub"] else [])]
        facts = Facts(media_type, told["width_px"], told["height_px"], told["duration_ms"])
        return cls(facts, [_track(each) for each in tracks])


def _parts_of(owner: OrganizationId, file_id: FileId) -> str:
    return parts_prefix(owner, file_id, OWN_CONTENT)


def _track(told: dict[str, Any]) -> NewTrack:
    return NewTrack(
        track_id=told["track_id"],
        type=told["type"],
        codec_name=told["codec_name"],
        duration_ms=told["duration_ms"],
        byte_size=told["byte_size"],
        probe_info=told["probe_info"],
    )


def _between(start: int, end: int, told: dict[str, Any]) -> int:
    """Return where a step is in the whole; what a child tells may be anything."""
    part = told.get("progress")
    if not isinstance(part, int | float):
        return start
    return start + int(max(0.0, min(1.0, part)) * (end - start))
