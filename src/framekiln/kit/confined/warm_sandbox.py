"""A sandbox that stays open with a zygote process, which forks a child for each order.

This saves the start of Python and all imports. Each order gets a new process, so nothing leaks from
one file to the next. A zygote whose child crashed is not used again, because the crash may have
revealed its memory layout. Orders that do not fit, and all orders if Landlock and seccomp cannot
separate processes, get their own sandbox (`spawned_child`).
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.confined.forked_child import ZygoteHandle
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.outcome import ConfinedChild
from framekiln.kit.confined.sandbox import Sandbox, VisibleFiles, strongest_sandbox
from framekiln.kit.confined.spawned_child import spawned_child
from framekiln.kit.lazy_log import LazyLogger

_MAX_ORDERS: Final = 500
_MAX_FAILURES: Final = 3
# Can be entered by name but not listed: names are long and random.
_ENTER_ONLY: Final = 0o711

log = LazyLogger(__name__)


@dataclass(frozen=True)
class SandboxFolders:
    """The folders in a warm sandbox: one for the folders of children, and one for their sources."""

    work: Path
    sources: Path

    def holds(self, order: ConfinedOrder) -> bool:
        """Return whether all paths of an order are in these folders."""
        folder, readable = order.folder.absolute(), (p.absolute() for p in order.readable)
        return folder.parent == self.work and all(p.parent == self.sources for p in readable)


@contextmanager
def open_sandbox_folders() -> Iterator[SandboxFolders]:
    """Create the folders of a warm sandbox; they are removed afterwards with their contents."""
    # The parent folder keeps other users out.
    with tempfile.TemporaryDirectory(prefix="framekiln-sandbox-") as place:
        folders = SandboxFolders(Path(place, "work"), Path(place, "sources"))
        for folder in (folders.work, folders.sources):
            folder.mkdir()
            folder.chmod(_ENTER_ONLY)
        yield folders


class WarmSandbox:
    """A warm sandbox for one event loop. `modules` are imported in advance."""

    def __init__(self, sandbox: Sandbox, folders: SandboxFolders, modules: Sequence[str]) -> None:
        self.sandbox = sandbox
        self.folders = folders
        self._modules = tuple(modules)
        packages = dict.fromkeys(("framekiln", *(each.partition(".")[0] for each in modules)))
        self._view = VisibleFiles(folders.work, (folders.sources,), tuple(packages))
        self._zygote: ZygoteHandle | None = None
        self._starting = asyncio.Lock()
        self._failures = 0
        self._retired: set[ZygoteHandle] = set()

    async def warm_up(self) -> bool:
        """Start a zygote if needed; return False if that is not possible."""
        return await self._fresh_zygote() is not None

    async def close(self) -> None:
        """End the zygotes and all their children."""
        zygotes = {*self._retired, *([self._zygote] if self._zygote else [])}
        self._zygote = None
        for zygote in zygotes:
            await zygote.close()

    @asynccontextmanager
    async def child(self, order: ConfinedOrder) -> AsyncIterator[ConfinedChild]:
        """Yield a running child; afterwards it has exited."""
        fits = self.folders.holds(order) and order.package in self._view.packages
        zygote = await self._fresh_zygote() if fits else None
        if zygote is None:
            async with spawned_child(self.sandbox, order) as child:
                yield child
            return
        zygote.users += 1
        try:
            async with zygote.forked(order) as child:
                yield child
        finally:
            zygote.users -= 1
            await self._retire_or_close(zygote)

    async def _fresh_zygote(self) -> ZygoteHandle | None:
        async with self._starting:
            if self._zygote is not None and self._zygote.is_gone:
                await self._retire(self._zygote)
            if self._zygote is None and self._failures < _MAX_FAILURES:
                self._zygote = await self._start()
            return self._zygote

    async def _start(self) -> ZygoteHandle | None:
        try:
            return await ZygoteHandle.start(self.sandbox, self._view, self._modules)
        except (ConfinedFailed, OSError, TimeoutError) as error:
            self._failures += 1
            log.warning("confined.warm_sandbox_unavailable", reason=str(error))
            return None

    async def _retire_or_close(self, zygote: ZygoteHandle) -> None:
        """Retire a zygote that crashed or is used up; end a retired one without users."""
        if zygote is self._zygote and (zygote.has_crashed or zygote.orders >= _MAX_ORDERS):
            await self._retire(zygote)
        elif zygote in self._retired and not zygote.users:
            self._retired.discard(zygote)
            await zygote.close()

    async def _retire(self, zygote: ZygoteHandle) -> None:
        self._zygote = None
        if zygote.users:
            self._retired.add(zygote)
        else:
            await zygote.close()


@asynccontextmanager
async def open_warm_sandbox(
    folders: SandboxFolders, modules: Sequence[str]
) -> AsyncIterator[WarmSandbox]:
    """Keep the strongest sandbox of this machine open; it warms up in the background."""
    warm = WarmSandbox(await asyncio.to_thread(strongest_sandbox), folders, modules)
    warming = asyncio.create_task(warm.warm_up())
    try:
        yield warm
    finally:
        warming.cancel()
        with suppress(asyncio.CancelledError):
            await warming
        await warm.close()
