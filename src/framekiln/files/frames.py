"""The frames of a video by number. Confined children read and decode it.

The times of the frames are stored with the file. Pictures are not: a few are decoded together,
because people look at neighbours, and the latest ones stay in memory.

This happens in the api, whose children others need too. So the limits are low, an organization has
two places, and nothing is fetched before it has one.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from weakref import WeakValueDictionary

from framekiln.files.errors import FileNotFound, FrameNotFound
from framekiln.files.media_copies import MediaCopies
from framekiln.files.model import MAX_BYTES, File, FileType, frame_times_key
from framekiln.files.service import Files
from framekiln.kit.confined.budget import children_of
from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.ids import OrganizationId
from framekiln.kit.json_scan import scan_json
from framekiln.media.task_names import EXACT_FRAMES_TASK, FRAME_TIMES_TASK
from framekiln.storage.blob_store import BlobStore

TOGETHER: Final = 8
"""So many neighbours are decoded at once."""
_MAX_KEPT_BYTES: Final = 64 << 20
AT_A_TIME: Final = 2
"""So many children of one organization run at once in this process."""
_LIMITS: Final = ResourceLimits(cpu_s=120, memory_bytes=1 << 30, file_bytes=32 << 20, wall_s=60)
_MUX_LIMITS: Final = replace(_LIMITS, file_bytes=2 * MAX_BYTES[FileType.VIDEO])
_MAX_FRAMES: Final = 1_000_000
# The frames, and the names and values around them.
_MAX_TIMES_VALUES: Final = _MAX_FRAMES + 20
_TIMES: Final = "times.json"
# What a number of a list costs in memory.
_NUMBER_BYTES: Final = 40

Value = TypeVar("Value")


@dataclass(frozen=True)
class StoredTimes:
    """When frames begin, in ticks of `tick_s` (numerator and denominator)."""

    tick_s: tuple[int, int]
    starts: Sequence[int]


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
        key = await self._times_key(file)
        async with self._lock(key):
            if await self._blobs.info(key) is None:
                await self._blobs.put(key, await self._read_times(file))
                await self._check_still_there(file, key)
        return key

    async def picture(self, file: File, number: int) -> bytes:
        """Return a frame as a JPEG."""
        key = await self.ensure_times(file)
        times = await self._stored_times(key)
        if number >= len(times.starts):
            raise FrameNotFound(
                f"there is no frame {number}: file {file.id} has {len(times.starts)}, numbered"
                " from 0"
            )
        first = number - number % TOGETHER
        name = f"{key} {first}"
        async with self._lock(name):
            pictures = self._pictures.get(name)
            if pictures is None:
                pictures = await self._decode(file, times, first)
                self._pictures.put(name, pictures, sum(map(len, pictures)))
        return pictures[number - first]

    async def _times_key(self, file: File) -> str:
        self._files.check_readable(file)
        tracks = await self._files.tracks(file.organization_id, file.id)
        if not any(track.type == "video" and track.track_id > 0 for track in tracks):
            raise FrameNotFound(f"file {file.id} has no video track, so it has no frames")
        assert file.completed_at is not None
        # A file that is processed again has another time.
        version = f"{file.completed_at.timestamp():.6f}"
        return frame_times_key(file.organization_id, file.id, version)

    async def _stored_times(self, key: str) -> StoredTimes:
        times = self._times.get(key)
        if times is None:
            raw = await self._blobs.get(key)
            times = await asyncio.to_thread(read_times, raw)
            self._times.put(key, times, _NUMBER_BYTES * len(times.starts))
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


def read_times(raw: bytes) -> StoredTimes:
    """Return the times that a child wrote, or raise `ConfinedFailed`."""
    try:
        scan_json(raw, max_values=_MAX_TIMES_VALUES)
        read = json.loads(raw)
        numerator, denominator = read["tick_s"]
        starts = read["starts"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfinedFailed("the times of the frames are not what was expected") from error
    numbers = (numerator, denominator, *starts) if isinstance(starts, list) else ()
    if not numbers or any(type(each) is not int for each in numbers) or denominator <= 0:
        raise ConfinedFailed("the times of the frames are not integers")
    return StoredTimes((numerator, denominator), starts)


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


def _read_all(folder: Path, names: Sequence[str]) -> list[bytes]:
    return [(folder / name).read_bytes() for name in names]
