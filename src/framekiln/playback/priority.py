"""Priority inside a worker: requested work runs first, background work is paused meanwhile.

It works within one process; the kernel schedules between processes.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from framekiln.kit.confined.pause import PauseSwitch


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
