"""Child processes that cannot outlive the parent: started in their own session, stopped as a group.

Linux only. The kernel signals every child when its parent dies, even by `kill -9`, and orphans of a
dead child are adopted, killed and reaped. It knows nothing about the programs themselves.
"""

import asyncio
import contextlib
import ctypes
import itertools
import os
import shutil
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LineSink = Callable[[str, str], None]
"""Receives the child's name and one line of its output, without the line end."""

MARK = "FRAMEKILN_CHILD"
"""In the environment of a child and all its descendants: the child they belong to."""

_starts = itertools.count(1)
_PR_SET_CHILD_SUBREAPER = 36
_LINE_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True)
class Program:
    """A program to run, and the signal that stops it."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] | None = None
    """Added to what it inherits."""
    inherited: frozenset[str] | None = None
    """The names of those variables of our environment that it gets; by default all."""
    folder: str | None = None
    """The working folder; by default ours."""
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout_s: float = 10
    inherited_files: tuple[int, ...] = ()
    """Open files that it uses, too, under the same numbers."""
    needs_clean_stop: bool = False
    """Whether it must always be allowed to exit by itself, because a kill would leave a mess."""


class ChildProcess:
    """One running program with everything in its process group."""

    def __init__(
        self,
        program: Program,
        process: asyncio.subprocess.Process,
        *,
        output: asyncio.Task[None],
        mark: str,
    ) -> None:
        self.program = program
        self.mark = mark
        self._process = process
        self._output = output

    @classmethod
    async def start(cls, program: Program, sink: LineSink) -> "ChildProcess":
        """Start the program; its output goes to `sink`, line by line."""
        # A separate pipe: asyncio considers a process running as long as any process, even a
        # forgotten grandchild, holds one of its pipes.
        readable, writable = os.pipe()
        mark = f"{os.getpid()}-{next(_starts)}"
        output = asyncio.create_task(_pass_lines(readable, program.name, sink))
        try:
            process = await asyncio.create_subprocess_exec(
                *with_parent_death_signal(program.argv, program.stop_signal),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writable,
                stderr=writable,
                env={**_inherited(program), **(program.environment or {}), MARK: mark},
                cwd=program.folder,
                start_new_session=True,
                pass_fds=program.inherited_files,
            )
        finally:
            os.close(writable)
        return cls(program, process, output=output, mark=mark)

    @property
    def pid(self) -> int:
        """The process id, which is also that of the group."""
        return self._process.pid

    async def wait(self) -> int:
        """Wait for the exit and return the exit code, negative for a signal.

        Processes left in the child's group are killed, so its output is complete afterwards.
        """
        code = await self._process.wait()
        self.kill()
        # An escaped grandchild may hold the pipe open; do not wait for it.
        await asyncio.wait([self._output], timeout=0.5)
        self._output.cancel()
        return code

    def send_stop_signal(self) -> None:
        """Send the stop signal to the program itself, which ends its own children."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(self.program.stop_signal)

    def kill(self) -> None:
        """Kill the whole group at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """Ask the program to exit, and kill it if it does not."""
        self.send_stop_signal()
        try:
            async with asyncio.timeout(self.program.stop_timeout_s):
                await self._process.wait()
        except TimeoutError:
            self.kill()
        await self.wait()


def _inherited(program: Program) -> dict[str, str]:
    names = program.inherited
    return {name: text for name, text in os.environ.items() if names is None or name in names}


async def _pass_lines(readable: int, name: str, sink: LineSink) -> None:
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(readable, "rb", buffering=0)
    )
    rest = b""
    try:
        while chunk := await stream.read(_LINE_LIMIT_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LINE_LIMIT_BYTES:
                lines, rest = [*lines, rest], b""
            for line in lines:
                sink(name, line.decode(errors="replace").rstrip("\r"))
        if rest:
            sink(name, rest.decode(errors="replace"))
    finally:
        transport.close()


def with_parent_death_signal(argv: Sequence[str], death_signal: signal.Signals) -> tuple[str, ...]:
    """Return a command that also gets `death_signal` when this process ends, for any reason."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return tuple(argv)
    return (setpriv, "--pdeathsig", death_signal.name.removeprefix("SIG"), *argv)


def inherit_orphans(inherits: bool = True) -> None:
    """Adopt the orphans of our children, instead of leaving them to process 1.

    Process 1 may not even reap: in a bare container it may be any program, not an init.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(inherits), 0, 0, 0)


def reap_orphans(known: Collection[int]) -> None:
    """Reap our exited children other than the `known` ones."""
    # Asked often. One system call tells that none has exited; only a search tells whose they are.
    try:
        if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return
    except ChildProcessError:
        return
    for pid in foreign_children():
        if pid not in known:
            _reap(pid)


def end_orphans(known: Collection[int], *, mark: str | None = None) -> list[int]:
    """Kill and reap our children other than the `known` ones; return those still running.

    With a mark, only those that the child with that mark left behind.
    """
    left = []
    for pid in foreign_children():
        if pid in known or (mark and not _has_mark(pid, mark)):
            continue
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        if not _reap(pid):
            left.append(pid)
    return left


def processes_in_folder(folder: Path, *, name: str) -> list[int]:
    """Return the processes named `name` that run in `folder`; zombies do not count."""
    found = []
    for pid in _all_pids():
        process = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):
            works_there = (process / "cwd").readlink() == folder
            if works_there and (process / "comm").read_text().strip() == name:
                found.append(pid)
    return found


def foreign_children() -> list[int]:
    """Return our children, started or adopted, that are in another session.

    Programs that other code of this process runs and waits for are not included.
    """
    found = []
    us, our_session = os.getpid(), os.getsid(0)
    for pid in _all_pids():
        with contextlib.suppress(OSError):
            # The name in parentheses may itself contain spaces and parentheses.
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
            _, parent, _, session, *_ = fields.split()
            if int(parent) == us and int(session) != our_session:
                found.append(pid)
    return found


def _reap(pid: int) -> bool:
    """Return whether the child is gone."""
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        return True


def _has_mark(pid: int, mark: str) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={mark}".encode() in environment.split(b"\0")


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
