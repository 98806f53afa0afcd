"""Who goes first in a worker: what somebody waits for. What is made ahead stands still meanwhile.

Only within one process; what other workers do on the same machine is the kernel's affair.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from framekiln.kit.confined.brake import Brake


@dataclass
class _Ahead:
    """Work that nobody waits for, until it is hurried."""

    brake: Brake = field(default_factory=Brake)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    is_hurried: bool = False


class Turns:
    """For one event loop; works are known by name."""

    def __init__(self) -> None:
        self._awaited = 0
        self._ahead: dict[str, _Ahead] = {}

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Do in the block what somebody waits for."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    @asynccontextmanager
    async def ahead(self, work: str) -> AsyncIterator[Brake]:
        """Do in the block what nobody waits for; the brake is to be on whatever takes long."""
        mine = _Ahead()
        self._ahead[work] = mine
        self._settle()
        try:
            await mine.may_go.wait()
            yield mine.brake
        finally:
            if self._ahead.get(work) is mine:
                del self._ahead[work]
            if mine.is_hurried:
                self._count(-1)

    @asynccontextmanager
    async def of(self, work: str, *, is_ahead: bool) -> AsyncIterator[Brake]:
        """Do in the block what somebody waits for, or nobody."""
        if is_ahead:
            async with self.ahead(work) as brake:
                yield brake
        else:
            with self.asked():
                yield Brake()

    def hurry(self, work: str) -> bool:
        """Tell whether this is being made ahead; if so it is waited for from now on."""
        found = self._ahead.get(work)
        if found is None:
            return False
        if not found.is_hurried:
            found.is_hurried = True
            self._count(1)
        return True

    def _count(self, step: int) -> None:
        self._awaited += step
        self._settle()

    def _settle(self) -> None:
        for each in self._ahead.values():
            if each.is_hurried or not self._awaited:
                each.may_go.set()
                each.brake.release()
            else:
                each.may_go.clear()
                each.brake.pull()
