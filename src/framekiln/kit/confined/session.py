"""A session with a confined child that stays open: it opens sources and answers requests.

`run_confined` is for one task on one file; a session is for thousands of small requests, such as
the frames of a film. It is synchronous, because films run in threads. The child is untrusted: every
answer is checked, and a child that hangs or lies is killed. The error names the source; other
sources go on in a new child. A request that ends with a crash is repeated once in a new child,
because the child may have been killed from outside.
"""

import math
import os
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from framekiln.kit.closeable import Closeable
from framekiln.kit.confined.budget import ChildBudget, SessionPlace, session_budget
from framekiln.kit.confined.channel import (
    WATCH_EVERY_S,
    InvalidAnswer,
    receive,
    receive_start,
    send,
)
from framekiln.kit.confined.errors import (
    ConfinedFailed,
    ConfinedKilled,
    NoDecoderFree,
    SourceKillsDecoder,
    rebuild_error,
)
from framekiln.kit.confined.limits import ResourceLimits, SessionLimits
from framekiln.kit.confined.session_process import SessionProcess, SessionStarter, signal_of
from framekiln.kit.confined.session_source import SessionSource
from framekiln.kit.confined.slots import SharedSlots
from framekiln.kit.errors import FramekilnError
from framekiln.kit.lazy_log import LazyLogger

_MAX_NAME_CHARS: Final = 200
_MAX_STARTS: Final = 6

ResultT = TypeVar("ResultT")

log = LazyLogger(__name__)


class _ChildCrashed(Exception):
    """The child ended in the middle of a request; `code` is its exit code."""

    def __init__(self, code: int | None) -> None:
        self.code = code


class _MemoryNeeded(Exception):
    """The child takes more in a request than the budget has left."""


class SessionPool:
    """Opens sessions. Threads may share it."""

    def __init__(
        self,
        modules: Sequence[str],
        *,
        can_fork: bool = True,
        budget: Callable[[], ChildBudget] = session_budget,
    ) -> None:
        self.starter = SessionStarter(modules, can_fork=can_fork)
        self.budget = budget

    def open(self, limits: SessionLimits | None = None) -> "ConfinedSession":
        """Return a session; its child starts with the first source."""
        return ConfinedSession(self, limits or SessionLimits())

    def close(self) -> None:
        """End all children."""
        self.starter.close()


class ConfinedSession(Closeable):
    """One session. A context manager; afterwards its child has ended. Threads may share it."""

    def __init__(self, pool: SessionPool, limits: SessionLimits) -> None:
        self._pool = pool
        self._limits = limits
        self._lock = threading.RLock()
        self._place = SessionPlace(pool.budget(), limits.counted_bytes)
        self._process: SessionProcess | None = None
        self._open: OrderedDict[int, SessionSource] = OrderedDict()
        self._starts = 0
        self._numbers = 0
        self._read_at = -math.inf

    def open(
        self, kind: str, path: Path, args: Mapping[str, Any], *, name: str | None = None
    ) -> SessionSource:
        """Open a source with a class of the child, "package.module:Class" (`ServedSource`).

        `name` is what errors call the source. The caller closes it.
        """
        with self._lock:
            self._numbers += 1
            shown = (name or path.name)[:_MAX_NAME_CHARS]
            source = SessionSource(self, self._numbers, kind, path, dict(args), shown)
            source.facts = self._repeat_crash(source, lambda: self._ensure_open(source))
            return source

    def close(self) -> None:
        """End the child, and give its place to another."""
        with self._lock:
            try:
                self._stop()
            finally:
                self._place.leave()

    def ask(self, source: SessionSource, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request about a source and return the answer."""

        def exchange() -> dict[str, Any]:
            self._ensure_open(source)
            return self._exchange(source, {"do": "ask", "request": request})

        with self._lock:
            return self._repeat_crash(source, exchange)

    def share(self, source: SessionSource) -> None:
        """Give the child the memory of a source."""

        def exchange() -> None:
            # After a crash it is closed; it gets its memory when it is opened again.
            if source.number in self._open:
                self._make_room(source)
                self._send_memory(source)

        with self._lock:
            self._repeat_crash(source, exchange)

    def forget(self, source: SessionSource) -> None:
        """Close a source in the child."""
        with self._lock:
            if self._open.pop(source.number, None) is not None and self._process is not None:
                # Without its child it is closed, too; other sources are opened again.
                with suppress(_ChildCrashed, _MemoryNeeded):
                    self._exchange(source, {"do": "close"})

    def _repeat_crash(self, source: SessionSource, exchange: Callable[[], ResultT]) -> ResultT:
        """Return what `exchange` returns, the second time if the child crashes the first time."""
        with suppress(_ChildCrashed):
            return self._repeat_with_memory(exchange)
        try:
            return self._repeat_with_memory(exchange)
        except _ChildCrashed as crash:
            ended_by = signal_of(crash.code)
            reason = f"exit code {crash.code}" if ended_by is None else ended_by.name
            hint = "; the machine may be out of memory" if ended_by is signal.SIGKILL else ""
            raise SourceKillsDecoder(
                f"{source.name}: the decoder crashed on this file twice ({reason}){hint}",
                signal=reason,
            ) from None

    def _repeat_with_memory(self, exchange: Callable[[], ResultT]) -> ResultT:
        """Return what `exchange` returns; once more, when others have ended, if it needs memory."""
        try:
            return exchange()
        except _MemoryNeeded:
            # It may need all that it is allowed; then it need not wait a third time.
            self._place.note_memory(self._limits.memory_bytes)
            self._wait_again()
            return exchange()

    def _wait_again(self) -> None:
        """Give the place back, to go on in a new child when others have ended."""
        self.close()
        self._starts -= 1

    def _ensure_open(self, source: SessionSource) -> dict[str, Any]:
        """Open a source, unless it is; return its facts."""
        if self._place.must_wait():
            self._wait_again()
        if source.number in self._open:
            self._open.move_to_end(source.number)
            return source.facts
        self._start(source)
        self._make_room(source)
        file = source.open_file()
        try:
            present = source.present()
            words = {"kind": source.kind, "name": source.path.name, "args": source.args}
            facts = self._exchange(source, {"do": "open", "present": present, **words}, file)
        finally:
            os.close(file)
        self._open[source.number] = source
        if source.slots:
            self._send_memory(source)
        return facts

    def _make_room(self, source: SessionSource) -> None:
        """Close other sources, least recently used first, until this one is within the limits."""
        others = [each for each in self._open.values() if each is not source]
        used_bytes = sum(each.shared_bytes for each in (*others, source))
        for count, oldest in zip(range(len(others), 0, -1), others, strict=True):
            if count < self._limits.open_sources and used_bytes <= self._limits.shared_bytes:
                return
            used_bytes -= oldest.shared_bytes
            oldest.memory = None
            del self._open[oldest.number]
            self._exchange(oldest, {"do": "close"})

    def _send_memory(self, source: SessionSource) -> None:
        memory = source.memory = SharedSlots(source.slot_bytes, source.slots)
        words = {"do": "share", "slot_bytes": memory.slot_bytes, "slots": memory.slots}
        self._exchange(source, words, memory.file)

    def _start(self, source: SessionSource) -> None:
        if self._process is not None:
            return
        if self._starts >= _MAX_STARTS:
            raise ConfinedKilled(
                f"{source.name}: not opened, because decoders crashed {_MAX_STARTS} times in this"
                " film; remove the sources that earlier errors name"
            )
        limits = self._limits
        if not self._place.take(limits.wait_s):
            raise NoDecoderFree(
                f"{source.name}: other films used all decoders for {limits.wait_s:g} s; try again"
                " later, or raise FRAMEKILN_CONFINED_MEMORY_MIB"
            )
        self._process = self._pool.starter.start(
            ResourceLimits(
                cpu_s=limits.total_cpu_s,
                memory_bytes=limits.memory_bytes,
                file_bytes=0,
                wall_s=limits.request_s,
                open_files=2 * limits.open_sources + 32,
                niceness=0,
            ),
            {"request_cpu_s": limits.request_cpu_s},
        )
        self._starts += 1

    def _stop(self) -> int | None:
        """End the child, if there is one; return its exit code."""
        process, self._process = self._process, None
        # A new child knows nothing of the slots that are in use, so it gets new ones.
        for source in self._open.values():
            source.memory = None
        self._open.clear()
        if process is None:
            return None
        try:
            return process.kill()
        finally:
            process.close()

    def _exchange(
        self, source: SessionSource, words: dict[str, Any], file: int | None = None
    ) -> dict[str, Any]:
        """Send a message and return the result; fetch what the child asks for meanwhile."""
        deadline = time.monotonic() + self._limits.request_s
        failure: FramekilnError | None = None
        assert self._process is not None
        channel = self._process.channel
        try:
            send(channel, {"source": source.number, **words}, deadline, file=file)
            if self._process.pid is None:
                self._process.pid = receive_start(channel, deadline)
            while "fetch" in (answer := receive(channel, deadline, self._count_memory)):
                begun = time.monotonic()
                end, failed = source.fetch(answer["fetch"])
                failure = failure or failed
                send(channel, {} if end is None else {"end": end}, deadline)
                deadline += time.monotonic() - begun
        except TimeoutError:
            self.fail(source, f"took more than {self._limits.request_s:g} s for one request")
        except (EOFError, OSError):
            self._raise_end(source)
        except InvalidAnswer as error:
            self.fail(source, f"gave an invalid answer: {error}")
        except BaseException:
            # The child is in the middle of an answer.
            self._stop()
            raise
        self._place.note_memory(answer.get("peak_bytes"))
        self._note_memory()
        if failure is not None:
            raise failure
        return self._result(source, answer)

    def _count_memory(self) -> None:
        """Count what the child takes, in the middle of a request."""
        self._note_memory()
        if self._place.must_wait():
            raise _MemoryNeeded

    def _note_memory(self) -> None:
        # Reading it costs as much as the message of a frame, so not after each.
        if self._process is not None and time.monotonic() - self._read_at >= WATCH_EVERY_S:
            self._place.note_memory(self._process.peak_bytes())
            self._read_at = time.monotonic()

    def _result(self, source: SessionSource, answer: dict[str, Any]) -> dict[str, Any]:
        result, error = answer.get("result"), answer.get("error")
        if isinstance(result, dict):
            return result
        if not isinstance(error, dict):
            self.fail(source, "gave an invalid answer: neither a result nor an error")
        if "limit" in error:
            limit = str(error["limit"])[:40]
            self.fail(source, f"exceeded a limit ({limit})", kind=SourceKillsDecoder, limit=limit)
        rebuilt = rebuild_error(error, source.kind)
        if isinstance(rebuilt, ConfinedFailed):
            self.fail(source, f"failed: {rebuilt.message}")
        raise rebuilt

    def fail(
        self,
        source: SessionSource,
        what: str,
        *,
        kind: type[ConfinedKilled] = ConfinedKilled,
        **details: str,
    ) -> NoReturn:
        """Kill the child and raise an error about the source."""
        complaints = self._process.error_output() if self._process is not None else ""
        self._stop()
        log.warning("confined.session_failed", kind=source.kind, what=what, complaints=complaints)
        raise kind(f"{source.name}: the decoder {what}, and was stopped", **details)

    def _raise_end(self, source: SessionSource) -> NoReturn:
        """Raise for a child that ended without an answer."""
        process = self._process
        code = process.wait() if process is not None else None
        complaints = process.error_output() if process is not None else ""
        self._stop()
        log.warning(
            "confined.session_ended", kind=source.kind, exit_code=code, complaints=complaints
        )
        if signal_of(code) is signal.SIGXCPU:
            raise SourceKillsDecoder(
                f"{source.name}: the decoder was stopped: it took more than"
                f" {self._limits.request_cpu_s} s of processor time for one request",
                limit="cpu_s",
            )
        raise _ChildCrashed(code)
