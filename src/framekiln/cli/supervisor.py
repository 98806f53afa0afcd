"""Keeps a set of child processes running: starts them in order, restarts dead ones, stops all.

Independent of what the children are. At the end of the `async with` block every child is stopped,
the last started first, or all at once.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from framekiln.kit.errors import Unavailable
from framekiln.kit.processes import (
    ChildProcess,
    LineSink,
    Program,
    end_orphans,
    foreign_children,
    inherit_orphans,
    reap_orphans,
)

Preparation = Callable[[], Awaitable[None]]

_ORPHAN_ROUNDS = 100
_REAP_EVERY_S = 2.0


class ChildFailed(Unavailable):
    """A child repeatedly exited before it was ready."""

    code = "child_failed"


@dataclass(frozen=True)
class RestartPolicy:
    """How long to wait before a dead child is restarted."""

    first_delay_s: float = 0.5
    longest_delay_s: float = 10
    healthy_after_s: float = 30
    """A child that ran this long starts over with the first delay."""
    deaths_while_starting: int = 3
    """After this many exits before it was ready, starting it has failed."""

    def delay_s(self, deaths_in_a_row: int) -> float:
        """Return the delay after the n-th exit in a row, counted from 1."""
        # The exponent is capped: 2**1024 is too large for a float.
        doublings = min(deaths_in_a_row - 1, 60)
        return float(min(self.longest_delay_s, self.first_delay_s * 2**doublings))


RESTART_AT_ONCE = RestartPolicy(first_delay_s=0.05)
"""For programs that others depend on."""


class ManagedProcess:
    """A supervised program: its current process and its restart count."""

    def __init__(
        self, program: Program, policy: RestartPolicy, before_restart: Preparation | None
    ) -> None:
        self.program = program
        self.policy = policy
        self.before_restart = before_restart
        self.child: ChildProcess | None = None
        self.deaths = 0
        self.gave_up = asyncio.Event()
        self.monitor: asyncio.Task[None] | None = None


class Supervisor:
    """The owner of child processes."""

    def __init__(
        self, *, sink: LineSink, policy: RestartPolicy | None = None, stops_in_order: bool = True
    ) -> None:
        self._sink = sink
        self._stops_in_order = stops_in_order
        self._policy = policy or RestartPolicy()
        self._processes: list[ManagedProcess] = []
        self._not_ours: set[int] = set()
        self._when_stopped: list[Callable[[], None]] = []
        self._starting = 0
        self._reaper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        inherit_orphans()
        self._not_ours = set(foreign_children())
        self._reaper = asyncio.create_task(self._reap(), name="reap orphans")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()
        inherit_orphans(False)

    async def start(
        self,
        program: Program,
        *,
        before_restart: Preparation | None = None,
        policy: RestartPolicy | None = None,
    ) -> ManagedProcess:
        """Start a program and keep it running."""
        process = ManagedProcess(program, policy or self._policy, before_restart)
        self._processes.append(process)
        await self._spawn(process)
        process.monitor = asyncio.create_task(
            self._monitor(process), name=f"care for {program.name}"
        )
        return process

    async def wait_until_ready(self, process: ManagedProcess, ready: Awaitable[None]) -> None:
        """Wait for `ready`, unless the child repeatedly exits before."""
        asked = asyncio.ensure_future(ready)
        gave_up = asyncio.create_task(process.gave_up.wait())
        try:
            await asyncio.wait([asked, gave_up], return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise ChildFailed(
                    f"{process.program.name} exited {process.deaths} times while starting;"
                    " see its output above"
                )
            await asked
        finally:
            for task in (asked, gave_up):
                task.cancel()
            await asyncio.gather(asked, gave_up, return_exceptions=True)

    def add_cleanup(self, clean_up: Callable[[], None]) -> None:
        """Call `clean_up` after every child has exited."""
        self._when_stopped.append(clean_up)

    def kill_children(self) -> None:
        """Kill children, except for those that need a clean stop."""
        for process in self._processes:
            if process.child and not process.program.needs_clean_stop:
                process.child.kill()

    async def stop(self) -> None:
        """Stop every child, and kill their orphans."""
        if self._reaper:
            self._reaper.cancel()
        if self._stops_in_order:
            for process in reversed(self._processes):
                await self._end(process)
        else:
            await asyncio.gather(*map(self._end, self._processes))
        self._processes.clear()
        for _ in range(_ORPHAN_ROUNDS):
            if not end_orphans(self._not_ours):
                break
            await asyncio.sleep(0.02)
        while self._when_stopped:
            self._when_stopped.pop()()

    async def _end(self, process: ManagedProcess) -> None:
        if process.monitor:
            process.monitor.cancel()
            await asyncio.gather(process.monitor, return_exceptions=True)
        if process.child:
            await process.child.stop()

    async def _spawn(self, process: ManagedProcess) -> None:
        self._starting += 1
        try:
            if process.deaths and process.before_restart:
                await process.before_restart()
            process.child = await ChildProcess.start(process.program, self._sink)
        finally:
            self._starting -= 1

    async def _monitor(self, process: ManagedProcess) -> None:
        deaths_in_a_row = 0
        while process.child:
            born = time.monotonic()
            code = await process.child.wait()
            end_orphans(self._known(), mark=process.child.mark)
            process.child = None
            lived_s = time.monotonic() - born
            deaths_in_a_row = (
                1 if lived_s >= process.policy.healthy_after_s else deaths_in_a_row + 1
            )
            self._count_death(process)
            await self._restart(process, code, deaths_in_a_row)

    async def _restart(self, process: ManagedProcess, code: int, deaths_in_a_row: int) -> None:
        """Restart the process after its delay, until it has started."""
        while process.child is None:
            pause_s = process.policy.delay_s(deaths_in_a_row)
            self._log(
                f"{process.program.name} ended ({describe_exit(code)}); restart in {pause_s:g} s"
            )
            await asyncio.sleep(pause_s)
            try:
                await self._spawn(process)
            except (OSError, Unavailable) as error:
                self._log(f"{process.program.name} cannot be started: {error}")
                deaths_in_a_row += 1
                self._count_death(process)

    def _count_death(self, process: ManagedProcess) -> None:
        process.deaths += 1
        if process.deaths >= process.policy.deaths_while_starting:
            process.gave_up.set()

    async def _reap(self) -> None:
        """Reap orphaned processes of children, as long as we run."""
        while True:
            await asyncio.sleep(_REAP_EVERY_S)
            # A child that is being started is not known yet, and not an orphan.
            if self._starting == 0:
                reap_orphans(self._known())

    def _known(self) -> set[int]:
        pids = {process.child.pid for process in self._processes if process.child}
        return pids | self._not_ours

    def _log(self, text: str) -> None:
        self._sink("serve", text)


def describe_exit(code: int) -> str:
    """Return how a process ended, as text."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
