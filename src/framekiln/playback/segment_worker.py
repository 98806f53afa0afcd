"""Resources with which a worker makes segments: cached sources, a warm sandbox, and priorities.

Sources are fetched once, cached while there is space, and shared by the jobs of a worker. Otherwise
every segment would cost a download of the whole source. Blobs in a folder on the same file system
are not copied.

Requested work runs first; background work is paused meanwhile. This works within one process; the
kernel schedules between processes.
"""

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.pause import PauseSwitch
from framekiln.kit.confined.run import run_warm
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.kit.errors import FramekilnError
from framekiln.storage.blob_store import BlobStore

MAX_BYTES: Final = 4 << 30


@dataclass
class _Kept:
    """One source; its lock is held while it is fetched."""

    path: Path
    size_bytes: int = 0
    users: int = 0
    fetching: asyncio.Lock = field(default_factory=asyncio.Lock)


class SourceFiles:
    """Caches sources in its own folder."""

    def __init__(self, blobs: BlobStore, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._blobs = blobs
        self._folder = folder
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        """Yield the path of a blob's content, which is read-only and stays during the block."""
        kept = self._kept.setdefault(key, _Kept(self._folder / uuid4().hex))
        self._kept.move_to_end(key)
        kept.users += 1
        try:
            async with kept.fetching:
                if not kept.size_bytes:
                    await self._fetch(key, kept)
            yield kept.path
        finally:
            kept.users -= 1
            self._make_room()

    async def _fetch(self, key: str, kept: _Kept) -> None:
        await self._blobs.get_to_read(key, kept.path)
        kept.size_bytes = kept.path.stat().st_size

    def _make_room(self) -> None:
        """Remove the least recently used sources until the rest fits."""
        total = sum(kept.size_bytes for kept in self._kept.values())
        for key, kept in list(self._kept.items()):
            if kept.users or (total <= self._max_bytes and kept.size_bytes):
                continue
            kept.path.unlink(missing_ok=True)
            total -= kept.size_bytes
            del self._kept[key]


@dataclass
class _BackgroundWork:
    """Background work, until it becomes urgent."""

    pause: PauseSwitch = field(default_factory=PauseSwitch)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    is_promoted: bool = False


class PriorityGate:
    """Priorities for one event loop; work is identified by name."""

    def __init__(self) -> None:
        self._awaited = 0
        self._ahead: dict[str, _BackgroundWork] = {}

    @contextmanager
    def requested(self) -> Iterator[None]:
        """Run the block as requested work."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    @asynccontextmanager
    async def background(self, work: str) -> AsyncIterator[PauseSwitch]:
        """Run the block as background work; apply the switch to everything that takes long."""
        mine = _BackgroundWork()
        self._ahead[work] = mine
        self._settle()
        try:
            await mine.may_go.wait()
            yield mine.pause
        finally:
            if self._ahead.get(work) is mine:
                del self._ahead[work]
            if mine.is_promoted:
                self._count(-1)

    @asynccontextmanager
    async def admit(self, work: str, *, is_ahead: bool) -> AsyncIterator[PauseSwitch]:
        """Run the block as requested or background work."""
        if is_ahead:
            async with self.background(work) as pause_switch:
                yield pause_switch
        else:
            with self.requested():
                yield PauseSwitch()

    def promote(self, work: str) -> bool:
        """Return whether this is running in the background; if so, it becomes requested work."""
        found = self._ahead.get(work)
        if found is None:
            return False
        if not found.is_promoted:
            found.is_promoted = True
            self._count(1)
        return True

    def _count(self, step: int) -> None:
        self._awaited += step
        self._settle()

    def _settle(self) -> None:
        for each in self._ahead.values():
            if each.is_promoted or not self._awaited:
                each.may_go.set()
                each.pause.resume()
            else:
                each.may_go.clear()
                each.pause.pause()


@dataclass(frozen=True)
class SourceTask:
    """A task of a confined child with its sources."""

    name: str
    args: Mapping[str, Any]
    limits: ResourceLimits
    sources: tuple[Path, ...]
    source_name: str = "the source"
    """What error messages call the sources."""


@dataclass(frozen=True)
class SegmentWorker:
    """Open it with `open_segment_worker`; the sandbox stays open longer."""

    sources: SourceFiles
    sandbox: WarmSandbox
    priority: PriorityGate = field(default_factory=PriorityGate)

    @asynccontextmanager
    async def run_task(
        self, task: SourceTask, *, pause_switch: PauseSwitch
    ) -> AsyncIterator[tuple[dict[str, Any], Path]]:
        """Run a task; yield its result and its output folder, which lasts as long as the block."""
        with tempfile.TemporaryDirectory(dir=self.sandbox.folders.work) as folder:
            order = ConfinedOrder(task.name, task.args, task.limits, Path(folder), task.sources)
            with _errors_about(task):
                answer = await run_warm(self.sandbox, order, pause_switch=pause_switch)
            yield answer, Path(folder)


@contextmanager
def _errors_about(task: SourceTask) -> Iterator[None]:
    """Replace the names of our copies in error messages: nobody else knows them."""
    try:
        yield
    except FramekilnError as error:
        for path in task.sources:
            error.message = error.message.replace(path.name, task.source_name)
        raise


def open_segment_worker(blobs: BlobStore, sandbox: WarmSandbox) -> SegmentWorker:
    """Return a segment worker that keeps its sources in the folders of the sandbox."""
    return SegmentWorker(SourceFiles(blobs, sandbox.folders.sources), sandbox)
