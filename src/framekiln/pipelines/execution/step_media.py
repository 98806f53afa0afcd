"""Gets what a step looks at or listens to: the whole file, or the fragments of its window.

A window of a file that still arrives has arrived itself. Its fragments are blobs of their own at
first and lie in a track file later; whichever it is when they are read.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from framekiln.db.pool import Database
from framekiln.files.lookup import list_stream_fragments, list_stream_tracks
from framekiln.files.model import SCRUB_TRACK, File, FileStatus, TrackType, track_key
from framekiln.files.service import Files
from framekiln.files.streams.fragment_reader import fetch_fragments
from framekiln.files.streams.model import Stream
from framekiln.kit.atomic_file import READABLE_BY_ALL, atomic_file
from framekiln.pipelines.execution.step_type import StepServices, StepWork
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound


@dataclass(frozen=True)
class MediaRange:
    """The wanted part of a track; whole fragments are fetched, so it may be more."""

    type: TrackType
    start_ms: int
    end_ms: int

    def touches(self, start_ms: Fraction | int, end_ms: Fraction | int) -> bool:
        """Return whether a fragment has any of it."""
        return end_ms > self.start_ms and start_ms < self.end_ms


@dataclass(frozen=True)
class StepMedia:
    """Fetches to local files. What is there is the first track of the type that was asked for."""

    database: Database
    files: Files
    blobs: BlobStore

    @classmethod
    def of(cls, services: StepServices) -> "StepMedia":
        """Return what fetches for the steps of a worker."""
        return cls(services.database, services.files, services.blobs)

    async def fetch(self, work: StepWork, kind: TrackType, path: Path, *, lead_ms: int = 0) -> bool:
        """Have the media of a step at a path, readable for all; False when it has no such track.

        `lead_ms` is how much more is wanted before a window and its overlap, where there is any.
        """
        if work.window is None:
            return await self._fetch_whole(work.file, kind, path)
        start_ms = max(0, work.window.media_start_ms - lead_ms)
        media_range = MediaRange(kind, start_ms, work.window.end_ms)
        is_there = await self._fetch_range(work.file, media_range, path)
        if is_there:
            await asyncio.to_thread(path.chmod, READABLE_BY_ALL)
        return is_there

    async def _fetch_whole(self, file: File, kind: TrackType, path: Path) -> bool:
        self.files.check_readable(file)
        tracks = await self.files.tracks(file.organization_id, file.id)
        if not any(track.type == kind and track.track_id > 0 for track in tracks):
            return False
        await self.files.fetch_media(file, path)
        return True

    async def _fetch_range(self, file: File, media_range: MediaRange, path: Path) -> bool:
        current = await self.files.get(file.organization_id, file.id)
        if current.status is not FileStatus.READY:
            try:
                return await self._fetch_arrived(current, media_range, path)
            except BlobNotFound:
                # It became ready just now, and its fragments lie in track files.
                current = await self.files.get(file.organization_id, file.id)
        self.files.check_readable(current)
        return await self._fetch_indexed(current, media_range, path)

    async def _fetch_arrived(self, file: File, media_range: MediaRange, path: Path) -> bool:
        async with self.database.connection() as connection:
            tracks = await list_stream_tracks(connection, file.id)
            fragments = await list_stream_fragments(connection, file.id)
        ids = [track.track_id for track in tracks if track.type == media_range.type]
        wanted = [
            each
            for each in fragments
            if each.track_id == min(ids, default=None)
            and media_range.touches(each.start_ms, each.end_ms)
        ]
        if wanted:
            await fetch_fragments(self.blobs, Stream(file, tracks), wanted, path)
        return bool(wanted)

    async def _fetch_indexed(self, file: File, media_range: MediaRange, path: Path) -> bool:
        raw = await self.blobs.get(file.index_key)
        spans = spans_of(json.loads(raw), media_range)
        if spans is None:
            return False
        key = track_key(file.organization_id, file.id, spans.track_id)
        async with atomic_file(path) as write, aclosing(self._read(key, spans.bytes)) as chunks:
            async for chunk in chunks:
                await write(chunk)
        return True

    async def _read(
        self, key: str, spans: Sequence[tuple[int, int]]
    ) -> AsyncGenerator[bytes, None]:
        for start, end in spans:
            async with aclosing(self.blobs.stream(key, start=start, end=end)) as chunks:
                async for chunk in chunks:
                    yield chunk


@dataclass(frozen=True)
class Spans:
    """The byte ranges of a track file that have a media range, the init segment first."""

    track_id: int
    bytes: list[tuple[int, int]]


def spans_of(index: dict[str, Any], media_range: MediaRange) -> Spans | None:
    """Return the byte ranges of a media range by the fragment index; None when it is empty."""
    entries = (
        entry
        for key, entry in index.items()
        if entry["type"] == media_range.type and int(key) != SCRUB_TRACK
    )
    entry = min(entries, key=lambda each: int(each["track"]), default=None)
    if entry is None:
        return None
    tick_ms = Fraction(1000, entry["timescale"])
    wanted = [
        each
        for each in entry["segments"]
        if media_range.touches(each["cts"] * tick_ms, (each["cts"] + each["duration"]) * tick_ms)
    ]
    if not wanted:
        return None
    spans: list[tuple[int, int]] = []
    for each in (entry["initSegment"], *wanted):
        start, end = each["offset"], each["offset"] + each["size"]
        if spans and spans[-1][1] == start:
            start = spans.pop()[0]
        spans.append((start, end))
    return Spans(int(entry["track"]), spans)
