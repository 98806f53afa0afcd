"""How long a player waits for a segment, against the bare work in it: forked, and started anew."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.run import run_in_sandbox, run_warm
from framekiln.kit.confined.sandbox import strongest_sandbox
from framekiln.kit.confined.warm_sandbox import WarmSandbox, open_sandbox_folders
from framekiln.media.segments.outline import make_outline
from framekiln.media.segments.renditions import AUDIO, MAIN, Rendition
from framekiln.media.segments.tasks import SEGMENT_TASK, TASKS_MODULE, make_segment
from tests.support.clips import Clip, make_clip

ROUNDS = 3
LIMITS = ResourceLimits(cpu_s=120, memory_bytes=3 << 30, file_bytes=512 << 20, wall_s=120)
CLIP = Clip(width=1920, height=1080, duration_s=Fraction(8))
CASES = (
    ("pictures, copied", MAIN, 1),
    ("sound, copied", AUDIO, 1),
    ("720p, the first", "720p", 1),
    ("360p, the third", "360p", 3),
)


@dataclass(frozen=True)
class PlaybackRow:
    """One segment; `forked` and `started` are how many times the bare work they take."""

    name: str
    work_ms: float
    forked: float
    started: float


def measure_playback() -> list[PlaybackRow]:
    """Make each segment in three ways, by turns, and keep the best of each."""
    return asyncio.run(_measure_all())


def print_playback(rows: list[PlaybackRow]) -> None:
    """Print one line for each segment."""
    table = Table(title="Playback of 1080p, wall time of a segment against the work in it")
    for column in ("segment", "work alone", "in a warm sandbox", "in a new sandbox"):
        table.add_column(column, justify="left" if column == "segment" else "right")
    for row in rows:
        table.add_row(
            row.name, f"{row.work_ms:.0f} ms", f"{row.forked:.2f}x", f"{row.started:.2f}x"
        )
    Console(width=160).print(table)


async def _measure_all() -> list[PlaybackRow]:
    with open_sandbox_folders() as folders:
        warm = WarmSandbox(strongest_sandbox(), folders, [TASKS_MODULE])
        await warm.warm_up()
        path = make_clip(folders.sources / "clip.mp4", CLIP)
        path.chmod(0o644)
        try:
            return [await _measure(warm, path, case) for case in CASES]
        finally:
            await warm.close()


async def _measure(warm: WarmSandbox, path: Path, case: tuple[str, str, int]) -> PlaybackRow:
    name, rendition_id, number = case
    rendition = make_outline(path, path).find(rendition_id)
    assert rendition is not None

    async def alone() -> None:
        await asyncio.to_thread(make_segment, path, rendition, number)

    async def forked() -> None:
        with tempfile.TemporaryDirectory(dir=warm.folders.work) as folder:
            await run_warm(warm, _order(path, rendition, number, Path(folder)))

    async def started() -> None:
        with tempfile.TemporaryDirectory(dir=warm.folders.work) as folder:
            await run_in_sandbox(warm.sandbox, _order(path, rendition, number, Path(folder)))

    best = [float("inf")] * 3
    for _ in range(ROUNDS):
        spent = [await _timed(way) for way in (alone, forked, started)]
        best = [min(pair) for pair in zip(best, spent, strict=True)]
    return PlaybackRow(name, best[0] * 1000, best[1] / best[0], best[2] / best[0])


def _order(path: Path, rendition: Rendition, number: int, folder: Path) -> ConfinedOrder:
    args: dict[str, Any] = {
        "source": str(path),
        "rendition": rendition.to_json(),
        "number": number,
        "out": "segment.m4s",
    }
    return ConfinedOrder(SEGMENT_TASK, args, LIMITS, folder, (path,))


async def _timed(way: Callable[[], Awaitable[None]]) -> float:
    begun = time.perf_counter()
    await way()
    return time.perf_counter() - begun


if __name__ == "__main__":
    print_playback(measure_playback())
