"""Runs one function in a confined child process and returns what it returned.

The parent's side: starts the child in its cage, reads what it tells, ends it at the first breach,
and never believes it: every line is bounded and checked, and what is left in the folder is looked
through before anybody opens it. When a run is over, however it ended, no process is left.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import structlog

from framekiln.kit.confined.cage import (
    Cage,
    View,
    Walls,
    child_command,
    child_environment,
    landlock_paths,
    runs_as_stranger,
    strongest_cage,
)
from framekiln.kit.confined.errors import ConfinedFailed, ConfinedKilled, rebuild_error
from framekiln.kit.confined.folders import hand_over, take_back
from framekiln.kit.confined.limits import Limits

OnReport = Callable[[dict[str, Any]], None]

_LONGEST_LINE_BYTES: Final = 8 << 20
_MOST_TOLD_BYTES: Final = 64 << 20
_COMPLAINT_BYTES: Final = 4096
_CHUNK_BYTES: Final = 64 << 10
# Between the end of what a child tells and its own end.
_LEAVING_S: Final = 5
_LIMIT_OF_SIGNAL: Final = {signal.SIGXCPU: "cpu_s", signal.SIGXFSZ: "file_bytes"}

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Order:
    """What is to be run: `task` is "package.module:function"."""

    task: str
    args: Mapping[str, Any]
    limits: Limits
    folder: Path
    readable: tuple[Path, ...] = ()

    def view(self) -> View:
        """Return what the child gets to see."""
        packages = dict.fromkeys(("framekiln", self.task.partition(".")[0]))
        readable = tuple(path.absolute() for path in self.readable)
        return View(self.folder.absolute(), readable, tuple(packages))


async def run_confined(
    task: str,
    args: Mapping[str, Any],
    *,
    limits: Limits,
    folder: Path,
    readable: Sequence[Path] = (),
    on_report: OnReport | None = None,
) -> dict[str, Any]:
    """Call `function(args, report)` in a child and return its answer; both are JSON.

    The child sees `folder`, which it may change, and `readable`; no other file of ours, no
    network, and it can start no process. Our own errors come out as they are.
    """
    cage = await asyncio.to_thread(strongest_cage)
    order = Order(task, args, limits, folder, tuple(readable))
    return await run_in(cage, order, on_report)


def confinement() -> str:
    """Say how children are confined on this machine, and why not better."""
    return strongest_cage().description


async def run_in(cage: Cage, order: Order, on_report: OnReport | None = None) -> dict[str, Any]:
    """Carry out an order in a certain cage."""
    view = order.view()
    is_stranger = runs_as_stranger(cage.walls, view)
    if is_stranger:
        await asyncio.to_thread(hand_over, view)
    try:
        async with _started(cage, order, view) as child:
            told = await _outcome(child, order, on_report)
    finally:
        strange = await asyncio.shield(
            asyncio.to_thread(take_back, view.folder, has_owner=is_stranger)
        )
    if strange:
        raise ConfinedFailed(f"{order.task} left what is no file: {', '.join(strange[:5])}")
    return told


@dataclass
class _Child:
    """A running child. What it writes to standard output and error is its complaints."""

    process: asyncio.subprocess.Process
    told: asyncio.StreamReader
    complaints: bytes = b""

    async def collect_complaints(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_CHUNK_BYTES):
            self.complaints = (self.complaints + chunk)[-_COMPLAINT_BYTES:]

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@asynccontextmanager
async def _started(cage: Cage, order: Order, view: View) -> AsyncIterator[_Child]:
    """Yield the running child; afterwards it is gone, with all that it may have started."""
    async with _pipe() as (told, told_end), _pipe() as (complained, complaint_end):
        with _order_file(cage, order, view) as order_file:
            process = await asyncio.create_subprocess_exec(
                *child_command(cage.walls, view, str(told_end.fileno())),
                stdin=order_file,
                stdout=complaint_end,
                stderr=complaint_end,
                pass_fds=(told_end.fileno(),),
                env=child_environment(view),
                cwd="/",
                start_new_session=True,
                umask=0o077,
            )
        told_end.close()
        complaint_end.close()
        child = _Child(process, told)
        listening = asyncio.create_task(child.collect_complaints(complained))
        try:
            yield child
        finally:
            child.kill()
            await asyncio.shield(process.wait())
            listening.cancel()


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, Any]]:
    """Yield the reading end as a stream, and the writing end as a file to hand on.

    A pipe of our own: asyncio takes a process for running as long as one of its pipes is open.
    """
    readable, writable = os.pipe()
    stream = asyncio.StreamReader(limit=_CHUNK_BYTES)
    with os.fdopen(writable, "wb", buffering=0) as end:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(readable, "rb", buffering=0)
        )
        try:
            yield stream, end
        finally:
            transport.close()


def _order_file(cage: Cage, order: Order, view: View) -> Any:
    """Return an open file in memory: an order of any length can be written before it is read."""
    landlock = None
    if cage.walls is Walls.NONE:
        landlock = [str(path) for path in landlock_paths(view)]
    words = {
        "task": order.task,
        "args": dict(order.args),
        "limits": asdict(order.limits),
        "folder": str(view.folder),
        "landlock": landlock,
        "parent": os.getpid(),
    }
    file = os.fdopen(os.memfd_create("order"), "w+b", buffering=0)
    file.write(json.dumps(words).encode())
    file.seek(0)
    return file


async def _outcome(child: _Child, order: Order, on_report: OnReport | None) -> dict[str, Any]:
    try:
        async with asyncio.timeout(order.limits.wall_s) as clock:
            told = await _listen(child, order, on_report)
            if told is None:
                await _raise_end(child, order)
    except TimeoutError:
        if not clock.expired():
            raise
        _raise_limit(order, "wall_s")
    result = told.get("result")
    if isinstance(result, dict):
        return result
    error = told.get("error")
    if not isinstance(error, dict):
        raise ConfinedFailed(f"{order.task} answered with something else than an object")
    if "limit" in error:
        _raise_limit(order, str(error["limit"]))
    rebuilt = rebuild_error(error, order.task)
    if isinstance(rebuilt, ConfinedFailed):
        await _log_end(child, order)
    raise rebuilt


async def _listen(child: _Child, order: Order, on_report: OnReport | None) -> dict[str, Any] | None:
    """Pass reports on, until the child tells how it ended, or tells nothing any more."""
    async for line in _lines(child.told, order):
        told = _parse(line, order)
        if "report" not in told:
            return told
        if on_report is not None and isinstance(told["report"], dict):
            on_report(told["report"])
    return None


async def _lines(stream: asyncio.StreamReader, order: Order) -> AsyncIterator[bytes]:
    begun, total_bytes = bytearray(), 0
    while chunk := await stream.read(_CHUNK_BYTES):
        total_bytes += len(chunk)
        begun += chunk
        if total_bytes > _MOST_TOLD_BYTES or len(begun) > _LONGEST_LINE_BYTES:
            _raise_limit(order, "told")
        if b"\n" in chunk:
            *lines, rest = bytes(begun).split(b"\n")
            begun = bytearray(rest)
            for line in lines:
                yield line


def _parse(line: bytes, order: Order) -> dict[str, Any]:
    try:
        told = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ConfinedFailed(f"{order.task} told something that is no JSON") from error
    if not isinstance(told, dict):
        raise ConfinedFailed(f"{order.task} told something that is no object")
    return told


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


async def _raise_end(child: _Child, order: Order) -> NoReturn:
    """Raise for a child that has ended, or closed its pipe, without an answer."""
    try:
        code = await asyncio.wait_for(child.process.wait(), _LEAVING_S)
    except TimeoutError:
        raise ConfinedFailed(f"{order.task} closed the pipe for its answer") from None
    await _log_end(child, order)
    # Bubblewrap passes a signal on as shells do.
    number = -code if code < 0 else code - 128
    if number not in set(signal.Signals):
        raise ConfinedFailed(f"{order.task} ended without an answer (exit code {code})")
    ended_by = signal.Signals(number)
    if ended_by in _LIMIT_OF_SIGNAL:
        _raise_limit(order, _LIMIT_OF_SIGNAL[ended_by])
    hint = "; the machine may be out of memory" if ended_by is signal.SIGKILL else ""
    raise ConfinedKilled(
        f"the decoder crashed on this file ({ended_by.name}){hint}", signal=ended_by.name
    )


def _raise_limit(order: Order, limit: str) -> NoReturn:
    limits = order.limits
    words = {
        "cpu_s": f"more than {limits.cpu_s} s of processor time",
        "memory_bytes": f"more than {limits.memory_bytes >> 20} MiB of memory",
        "file_bytes": f"a file of more than {limits.file_bytes} bytes",
        "wall_s": f"more than {limits.wall_s:g} s",
        "open_files": f"more than {limits.open_files} open files",
        "told": "reports without end",
    }
    log.warning("a confined child went over a limit", task=order.task, limit=limit)
    raise ConfinedKilled(
        f"the decoder was ended on this file: it took {words.get(limit, limit)}", limit=limit
    )


async def _log_end(child: _Child, order: Order) -> None:
    # What it wrote last may still be on its way to us.
    await asyncio.sleep(0.05)
    log.warning(
        "a confined child failed",
        task=order.task,
        complaints=child.complaints.decode(errors="replace"),
    )
