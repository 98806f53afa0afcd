"""The frames of a video by number. Confined children read and decode it.

The worker that processes an upload stores the times of its frames. Files that it did not make, or
made before it did so, get them when they are first wanted. Pictures are not stored: a few are
decoded together, because people look at neighbours, and the latest ones stay in memory.

This happens in the api, whose children others need too. So the limits are low, an organization has
two places, and nothing is fetched before it has one.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from weakref import WeakValueDictionary

from framekiln.files.errors import FileNotFound, FrameNotFound
from framekiln.files.frame_times import MAX_TIMES_BYTES, StoredTimes, read_times
from framekiln.files.media_copies import MediaCopies
from framekiln.files.model import (
    MAX_BYTES,
    File,
    FileType,
    frame_times_key,
    later_frame_times_key,
)
from framekiln.files.service import Files
from framekiln.kit.confined.budget import children_of
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import OrganizationId
from framekiln.media.task_names import EXACT_FRAMES_TASK, FRAME_TIMES_TASK
from framekiln.storage.blob_store import BlobStore

TOGETHER: Final = 8
"""So many neighbours are decoded at once."""
_MAX_KEPT_BYTES: Final = 64 << 20
AT_A_TIME: Final = 2
"""So many children of one organization run at once in this process."""
_LIMITS: Final = ResourceLimits(
    cpu_s=120, memory_bytes=1 << 30, file_bytes=MAX_TIMES_BYTES, wall_s=60
)
_MUX_LIMITS: Final = replace(_LIMITS, file_bytes=2 * MAX_BYTES[FileType.VIDEO])
_TIMES: Final = "times.json"

Value = TypeVar("Value")


class FileFrames:
    """The frames of all files; callers have checked who asks."""

    def __init__(self, files: Files, blobs: BlobStore) -> None:
        self._files = files
        self._blobs = blobs
        self._times = RecentValues[StoredTimes]()
        self._pictures = RecentValues[Sequence[bytes]]()
        self._copies = MediaCopies(files, _MUX_LIMITS)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._places: WeakValueDictionary[OrganizationId, asyncio.Semaphore] = WeakValueDictionary()

    async def close(self) -> None:
        """Remove local copies."""
        await self._copies.close()

    async def ensure_times(self, file: File) -> str:
        """Return the key of the times of a file's frames, after making them if necessary."""
        await self._check_has_frames(file)
        key = frame_times_key(file.organization_id, file.id)
        # They are those of the source, which is not what a file muxed from tracks is read from.
        if file.has_source and await self._blobs.info(key) is not None:
            return key
        key = later_frame_times_key(file.organization_id, file.id, _version(file))
        async with self._lock(key):
            if await self._blobs.info(key) is None:
                await self._blobs.put(key, await self._read_times(file))
                await self._check_still_there(file, key)
        return key

    async def picture(self, file: File, number: int) -> bytes:
        """Return a frame as a JPEG."""
        times = await self._stored_times(file, await self.ensure_times(file))
        if number >= len(times.starts):
            raise FrameNotFound(
                f"there is no frame {number}: file {file.id} has {len(times.starts)}, numbered"
                " from 0"
            )
        first = number - number % TOGETHER
        name = f"{file.id} {_version(file)} {first}"
        async with self._lock(name):
            pictures = self._pictures.get(name)
            if pictures is None:
                pictures = await self._decode(file, times, first)
                self._pictures.put(name, pictures, sum(map(len, pictures)))
        return pictures[number - first]

    async def _check_has_frames(self, file: File) -> None:
        self._files.check_readable(file)
        tracks = await self._files.tracks(file.organization_id, file.id)
        if not any(track.type == "video" and track.track_id > 0 for track in tracks):
            raise FrameNotFound(f"file {file.id} has no video track, so it has no frames")

    async def _stored_times(self, file: File, key: str) -> StoredTimes:
        name = f"{file.id} {_version(file)}"
        times = self._times.get(name)
        if times is None:
            raw = await self._blobs.get(key)
            times = await asyncio.to_thread(read_times, raw)
            self._times.put(name, times, times.size_bytes)
        return times

    async def _read_times(self, file: File) -> bytes:
        made = await self._run(file, FRAME_TIMES_TASK, {"out": _TIMES}, names=[_TIMES])
        # Before it is stored: a compromised child may have written anything.
        await asyncio.to_thread(read_times, made[0])
        return made[0]

    async def _decode(self, file: File, times: StoredTimes, first: int) -> Sequence[bytes]:
        ticks = list(times.starts[first : first + TOGETHER])
        args = {"folder": ".", "tick_s": list(times.tick_s), "ticks": ticks}
        names = [f"{number}.jpg" for number in range(len(ticks))]
        return await self._run(file, EXACT_FRAMES_TASK, args, names=names)

    async def _run(
        self, file: File, task: str, args: dict[str, Any], *, names: Sequence[str]
    ) -> list[bytes]:
        """Return the files that a task makes of a video."""
        async with self.places(file.organization_id):
            with open_job_folders("frames") as place, children_of(str(file.organization_id)):
                async with self._copies.open(file) as source:
                    await run_confined(
                        task,
                        {"source": str(source), **args},
                        limits=_LIMITS,
                        folder=place.folder,
                        readable=[source],
                    )
                return await asyncio.to_thread(_read_all, place.folder, names)

    async def _check_still_there(self, file: File, key: str) -> None:
        try:
            await self._files.get(file.organization_id, file.id)
        except FileNotFound:
            # Deleted while we worked, and we have stored something since.
            await self._blobs.delete(key)
            raise

    def _lock(self, name: str) -> asyncio.Lock:
        """Return the lock of whatever is made under a name; it is gone when nobody waits."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def places(self, organization_id: OrganizationId) -> asyncio.Semaphore:
        """Return the places of an organization; they are gone when nobody has or wants one."""
        places = self._places.get(organization_id)
        if places is None:
            places = self._places[organization_id] = asyncio.Semaphore(AT_A_TIME)
        return places


class RecentValues(Generic[Value]):
    """The values that were used last, up to a number of bytes."""

    def __init__(self, max_bytes: int = _MAX_KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> Value | None:
        """Return the value, if it is kept."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: str, value: Value, size_bytes: int) -> None:
        """Keep a value, and drop the ones that nobody has used for longest."""
        _, replaced_bytes = self._values.pop(key, (None, 0))
        self._values[key] = (value, size_bytes)
        self._bytes += size_bytes - replaced_bytes
        while self._bytes > self._max_bytes:
            _, (_, size) = self._values.popitem(last=False)
            self._bytes -= size


def _version(file: File) -> str:
    """Return what changes when a file is processed again."""
    assert file.completed_at is not None
    return f"{file.completed_at.timestamp():.6f}"


def _read_all(folder: Path, names: Sequence[str]) -> list[bytes]:
    return [(folder / name).read_bytes() for name in names]
