"""Reads the messages of a child and validates them; the child is untrusted.

Every line is bounded and checked; the first violation ends the run. `ConfinedChild` starts and
stops the child.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from framekiln.kit.confined.errors import ConfinedFailed, ConfinedKilled, rebuild_error
from framekiln.kit.confined.order import ConfinedOrder, OnReport
from framekiln.kit.confined.pause import PauseSwitch
from framekiln.kit.json_scan import MAX_VALUES, NumberTooLong, TooManyValues, scan_json
from framekiln.kit.lazy_log import LazyLogger

_MAX_LINE_BYTES: Final = 8 << 20
_MAX_OUTPUT_BYTES: Final = 64 << 20
_SHORT_BYTES: Final = MAX_VALUES
"""Has fewer values than allowed, whatever it is."""
_COMPLAINT_BYTES: Final = 4096
_CHUNK_BYTES: Final = 64 << 10
# Time between the child's last message and its exit.
_LEAVING_S: Final = 5
_LIMIT_OF_SIGNAL: Final = {signal.SIGXCPU: "cpu_s", signal.SIGXFSZ: "file_bytes"}

log = LazyLogger(__name__)


@dataclass
class ConfinedChild:
    """A running child. Its standard output and error are logged."""

    messages: asyncio.StreamReader
    output: bytes = field(default=b"", kw_only=True)

    async def collect_output(self, stream: asyncio.StreamReader) -> None:
        """Keep the last part of its output."""
        while chunk := await stream.read(_CHUNK_BYTES):
            self.output = (self.output + chunk)[-_COMPLAINT_BYTES:]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and to all processes it may have started."""
        raise NotImplementedError

    async def wait(self) -> int:
        """Return its exit code: for a signal, negative or 128 plus the number."""
        raise NotImplementedError


@asynccontextmanager
async def open_pipe() -> AsyncIterator[tuple[asyncio.StreamReader, Any]]:
    """Yield the read end as a stream, and the write end as a file to pass on.

    A separate pipe, because asyncio considers a process running as long as one of its pipes is
    open.
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


async def outcome(
    child: ConfinedChild,
    order: ConfinedOrder,
    *,
    on_report: OnReport | None,
    pause_switch: PauseSwitch,
) -> dict[str, Any]:
    """Return the child's result, or raise its error."""
    try:
        async with asyncio.timeout(order.limits.wall_s) as clock:
            with pause_switch.control(child.signal, clock):
                message = await _listen(child, order, on_report)
            if message is None:
                await _raise_end(child, order)
    except TimeoutError:
        if not clock.expired():
            raise
        _raise_limit(order, "wall_s")
    result = message.get("result")
    if isinstance(result, dict):
        return result
    error = message.get("error")
    if not isinstance(error, dict):
        raise ConfinedFailed(f"{order.task} returned a result that is not an object")
    if "limit" in error:
        _raise_limit(order, str(error["limit"]))
    rebuilt = rebuild_error(error, order.task)
    if isinstance(rebuilt, ConfinedFailed):
        await _log_end(child, order)
    raise rebuilt


async def _listen(
    child: ConfinedChild, order: ConfinedOrder, on_report: OnReport | None
) -> dict[str, Any] | None:
    """Pass reports on until the child sends its result or closes the pipe."""
    async for line in _lines(child.messages, order):
        message = _parse(line, order)
        if "report" not in message:
            return message
        if on_report is not None and isinstance(message["report"], dict):
            on_report(message["report"])
    return None


async def _lines(stream: asyncio.StreamReader, order: ConfinedOrder) -> AsyncIterator[bytes]:
    begun, total_bytes = bytearray(), 0
    while chunk := await stream.read(_CHUNK_BYTES):
        total_bytes += len(chunk)
        begun += chunk
        if total_bytes > _MAX_OUTPUT_BYTES or len(begun) > _MAX_LINE_BYTES:
            _raise_limit(order, "reports")
        if b"\n" in chunk:
            *lines, rest = bytes(begun).split(b"\n")
            begun = bytearray(rest)
            for line in lines:
                yield line


def _parse(line: bytes, order: ConfinedOrder) -> dict[str, Any]:
    try:
        if len(line) > _SHORT_BYTES:
            # The parser would hold up the event loop.
            scan_json(line)
        message = json.loads(line, parse_constant=_refuse_constant)
    except (TooManyValues, NumberTooLong) as error:
        raise ConfinedFailed(f"{order.task} sent a report that {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfinedFailed(f"{order.task} sent a report that is not JSON") from error
    if not isinstance(message, dict):
        raise ConfinedFailed(f"{order.task} sent a report that is not an object")
    return message


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


async def _raise_end(child: ConfinedChild, order: ConfinedOrder) -> NoReturn:
    """Raise for a child that exited, or closed its pipe, without a result."""
    try:
        async with asyncio.timeout(_LEAVING_S):
            code = await child.wait()
    except TimeoutError:
        raise ConfinedFailed(f"{order.task} closed the pipe before its result") from None
    await _log_end(child, order)
    # Bubblewrap reports a signal as shells do.
    number = -code if code < 0 else code - 128
    if number not in set(signal.Signals):
        raise ConfinedFailed(f"{order.task} exited without a result (exit code {code})")
    ended_by = signal.Signals(number)
    if ended_by in _LIMIT_OF_SIGNAL:
        _raise_limit(order, _LIMIT_OF_SIGNAL[ended_by])
    hint = "; the machine may be out of memory" if ended_by is signal.SIGKILL else ""
    raise ConfinedKilled(f"processing crashed ({ended_by.name}){hint}", signal=ended_by.name)


def _raise_limit(order: ConfinedOrder, limit: str) -> NoReturn:
    limits = order.limits
    words = {
        "cpu_s": f"more than {limits.cpu_s} s of processor time",
        "memory_bytes": f"more than {limits.memory_bytes >> 20} MiB of memory",
        "file_bytes": f"a file of more than {limits.file_bytes} bytes",
        "wall_s": f"more than {limits.wall_s:g} s",
        "open_files": f"more than {limits.open_files} open files",
        "reports": "too many reports",
    }
    log.warning("confined.limit_exceeded", task=order.task, limit=limit)
    raise ConfinedKilled(f"processing was stopped: it took {words.get(limit, limit)}", limit=limit)


async def _log_end(child: ConfinedChild, order: ConfinedOrder) -> None:
    # Its last output may not have arrived yet.
    await asyncio.sleep(0.05)
    log.warning(
        "confined.child_failed",
        task=order.task,
        complaints=child.output.decode(errors="replace"),
    )
