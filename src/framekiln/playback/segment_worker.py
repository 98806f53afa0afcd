"""Resources with which a worker makes segments: cached sources, a warm sandbox, and priorities."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.pause import PauseSwitch
from framekiln.kit.confined.run import run_warm
from framekiln.kit.confined.warm_sandbox import WarmSandbox
from framekiln.playback.priority import PriorityGate
from framekiln.playback.source_files import SourceFiles
from framekiln.storage.blob_store import BlobStore


@dataclass(frozen=True)
class SourceTask:
    """A task of a confined child with its sources."""

    name: str
    args: Mapping[str, Any]
    limits: ResourceLimits
    sources: tuple[Path, ...]


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
            answer = await run_warm(self.sandbox, order, pause_switch=pause_switch)
            yield answer, Path(folder)


def open_segment_worker(blobs: BlobStore, sandbox: WarmSandbox) -> SegmentWorker:
    """Return a segment worker that keeps its sources in the folders of the sandbox."""
    return SegmentWorker(SourceFiles(blobs, sandbox.folders.sources), sandbox)
