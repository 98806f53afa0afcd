"""What is the same for all jobs that make a video ready, wherever its tracks come from.

Strangers' bytes are decoded in confined children only. A job runs again from the start after a
crash: every blob is replaced whole, and only the worker that holds the file may make it ready.
"""

import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import structlog

from framekiln.files.model import (
    Facts,
    File,
    NewTrack,
    file_prefix,
    index_key,
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

SOURCE: Final = "source"
"""The name of the whole film in the work folder."""
_OVERVIEW_LIMITS: Final = Limits(
    cpu_s=3600, memory_bytes=2 << 30, file_bytes=256 << 20, wall_s=1800
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Made:
    """What came of a video."""

    facts: Facts
    tracks: list[NewTrack]

    @classmethod
    def of(cls, told: dict[str, Any], media_type: str) -> "Made":
        """Read what the child told that made the tracks."""
        tracks = [*told["tracks"], *([told["scrub"]] if told["scrub"] else [])]
        facts = Facts(media_type, told["width_px"], told["height_px"], told["duration_ms"])
        return cls(facts, [_track(each) for each in tracks])


@dataclass(frozen=True)
class Stretch:
    """A part of the work, in thousandths of all of it."""

    progress: Reports[int]
    start: int
    end: int

    def note(self, told: dict[str, Any]) -> None:
        """Pass on how far a child is; what it tells may be anything."""
        part = told.get("progress")
        if isinstance(part, int | float):
            self.progress.note(self.start + int(max(0.0, min(1.0, part)) * (self.end - self.start)))


@dataclass(frozen=True)
class MakeReady(ABC):
    """Handles the jobs that make a video ready; each kind says how its tracks come about."""

    work: FileWork
    blobs: BlobStore

    async def __call__(self, job: JobContext) -> None:
        """Make a file ready, or say why that cannot be."""
        file_id = FileId(UUID(job.args["file_id"]))
        owner = OrganizationId(UUID(job.args["organization_id"]))
        async with failing_for_good(job, partial(self._fail, owner, file_id)):
            taken = await self.work.take(file_id)
            if taken is not None:
                await self._make_ready(taken)

    @abstractmethod
    async def _make(self, file: File, folder: Path, progress: Reports[int]) -> Made:
        """Write source, tracks, index and overview into the folder."""

    @abstractmethod
    def _material(self, owner: OrganizationId, file_id: FileId) -> str:
        """Return where the blobs are that nobody needs once the file is ready."""

    async def _make_ready(self, taken: TakenFile) -> None:
        file = taken.file
        with tempfile.TemporaryDirectory(prefix="framekiln-file-") as name:
            folder = Path(name)
            async with Reports[int](partial(self.work.report, file.id)) as progress:
                made = await self._make(file, folder, progress)
            if await self.work.is_mine(taken):
                await self._store(file, folder)
        if await patiently(lambda: self.work.complete(taken, made.facts, made.tracks)):
            await self.blobs.delete_prefix(self._material(file.organization_id, file.id))
        elif not await self.work.is_wanted(file):
            # Deleted or expired while we worked, and we have stored something since.
            await self.blobs.delete_prefix(file_prefix(file.organization_id, file.id))

    async def _store(self, file: File, folder: Path) -> None:
        """Keep what is in the folder; there is no overview of some files."""
        owner, file_id = file.organization_id, file.id
        paths = {
            source_key(owner, file_id): folder / SOURCE,
            index_key(owner, file_id): folder / INDEX_NAME,
            thumbnails_key(owner, file_id): folder / THUMBNAILS,
            waveform_key(owner, file_id): folder / WAVEFORM,
        }
        for path in track_path(folder, 0).parent.glob("*.mp4"):
            paths[track_key(owner, file_id, int(path.stem))] = path
        for key, path in paths.items():
            if path.is_file():
                await self.blobs.put_file(key, path)

    async def _fail(self, owner: OrganizationId, file_id: FileId, failure: Failure) -> None:
        if await self.work.fail(file_id, failure):
            await self.blobs.delete_prefix(self._material(owner, file_id))
            await self.blobs.delete(source_key(owner, file_id))


async def make_overview(folder: Path, stretch: Stretch) -> None:
    """Make thumbnails and waveform of the source; a file is ready without them too."""
    try:
        await run_confined(
            "framekiln.media.overviews.overview:task",
            {"source": SOURCE, "folder": "."},
            limits=_OVERVIEW_LIMITS,
            folder=folder,
            on_report=stretch.note,
        )
    except FramekilnError as error:
        log.warning("no overview", code=error.code, reason=error.message)


def _track(told: dict[str, Any]) -> NewTrack:
    return NewTrack(
        track_id=told["track_id"],
        type=told["type"],
        codec_name=told["codec_name"],
        duration_ms=told["duration_ms"],
        byte_size=told["byte_size"],
        probe_info=told["probe_info"],
    )
