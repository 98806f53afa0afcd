"""Where a worker makes things for players: sources at hand, a warm cage, and who goes first."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from framekiln.kit.confined.brake import Brake
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.order import Order
from framekiln.kit.confined.run import run_warm
from framekiln.kit.confined.warm import WarmCage, open_room, open_warm_cage
from framekiln.media.segmenting.segments import TASKS_MODULE
from framekiln.playback.source_files import SourceFiles
from framekiln.playback.turns import Turns
from framekiln.storage.blob_store import BlobStore


@dataclass(frozen=True)
class Task:
    """What a confined child is to do with sources."""

    name: str
    args: Mapping[str, Any]
    limits: Limits
    sources: tuple[Path, ...]


@dataclass(frozen=True)
class Workshop:
    """Open it with `open_workshop`."""

    sources: SourceFiles
    warm: WarmCage
    turns: Turns = field(default_factory=Turns)

    @asynccontextmanager
    async def done(self, task: Task, *, brake: Brake) -> AsyncIterator[tuple[dict[str, Any], Path]]:
        """Have a task done; yield its answer and the folder with what it wrote, for the block."""
        with tempfile.TemporaryDirectory(dir=self.warm.room.work) as folder:
            order = Order(task.name, task.args, task.limits, Path(folder), task.sources)
            answer = await run_warm(self.warm, order, brake=brake)
            yield answer, Path(folder)


@asynccontextmanager
async def open_workshop(blobs: BlobStore) -> AsyncIterator[Workshop]:
    """Keep everything at hand; it goes away with the worker."""
    with open_room() as room:
        async with open_warm_cage(room, [TASKS_MODULE]) as warm:
            yield Workshop(SourceFiles(blobs, room.sources), warm)
