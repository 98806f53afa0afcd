"""Starts the child processes of sessions, for threads without an event loop.

A zygote forks them, as in `warm_sandbox`; where its children cannot be isolated from each other,
each is started in a sandbox of its own. The kernel kills a sandbox with the thread that started it,
so a thread of its own starts each and waits for its end.
"""

import array
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder, order_file
from framekiln.kit.confined.sandbox import (
    Isolation,
    VisibleFiles,
    child_command,
    child_environment,
    strongest_sandbox,
)
from framekiln.kit.confined.zygote import MESSAGE_BYTES
from framekiln.kit.lazy_log import LazyLogger

_ZYGOTE: Final = "framekiln.kit.confined.zygote"
_CHILD: Final = "framekiln.kit.confined.child"
_TASK: Final = "framekiln.kit.confined.session_child:serve"
# For the owner, too: the child may be the same user.
_UNCHANGEABLE: Final = 0o511
_START_S: Final = 60
_LEAVING_S: Final = 30
_COMPLAINT_BYTES: Final = 4096
_STATUS_BYTES: Final = 4096

log = LazyLogger(__name__)


@dataclass
class SessionProcess:
    """A running child, and the parent's end of its channel."""

    channel: socket.socket
    send_signal: Callable[[signal.Signals], None]
    output: int
    """The read end of its standard error, which never blocks either side."""
    pid: int | None = None
    """Known when the child has started; another process may have it after its end."""
    _ended: threading.Event = field(default_factory=threading.Event)
    _code: int | None = None

    def set_end(self, code: int) -> None:
        """Record its exit code: for a signal, negative or 128 plus the number."""
        self._code = code
        self._ended.set()

    def kill(self) -> int | None:
        """End it, and return its exit code; None if it does not say so in time."""
        self.send_signal(signal.SIGKILL)
        return self.wait()

    def wait(self) -> int | None:
        """Return its exit code, once it has ended; None if that takes too long."""
        self._ended.wait(_LEAVING_S)
        return self._code

    def peak_bytes(self) -> int | None:
        """Return the most memory that it has taken, as the kernel counts it; None if unknown."""
        # Read for every frame of a slow film, so without the overhead of a `Path`.
        try:
            with open(f"/proc/{self.pid}/status", "rb", buffering=0) as file:
                status = file.read(_STATUS_BYTES)
        except OSError:
            return None
        _, found, after = status.partition(b"VmHWM:")
        return int(after.split(maxsplit=1)[0]) << 10 if found else None

    def error_output(self) -> str:
        """Return the last part of its standard error."""
        with suppress(BlockingIOError):
            return os.read(self.output, 1 << 16)[-_COMPLAINT_BYTES:].decode(errors="replace")
        return ""

    def close(self) -> None:
        """Free the channel; the child ends."""
        self.channel.close()
        if self.output >= 0:
            os.close(self.output)
            self.output = -1


class SessionStarter:
    """Starts children. `modules` are imported in advance, once. Threads may share it."""

    def __init__(self, modules: Sequence[str], *, can_fork: bool = True) -> None:
        self._modules = tuple(modules)
        packages = (each.partition(".")[0] for each in modules)
        self._packages = tuple(dict.fromkeys(("framekiln", *packages)))
        self._lock = threading.Lock()
        self._zygote: _Zygote | None = None
        self._can_fork = can_fork

    def start(self, limits: ResourceLimits, args: dict[str, Any]) -> SessionProcess:
        """Start a child."""
        zygote = self._fresh_zygote()
        if zygote is not None:
            return zygote.fork(limits, args)
        return _spawn(limits, args, self._packages)

    def warm_up(self) -> None:
        """Start the zygote now."""
        self._fresh_zygote()

    def close(self) -> None:
        """End the zygote with all its children."""
        with self._lock:
            if self._zygote is not None:
                self._zygote.close()
            self._zygote = None

    def _fresh_zygote(self) -> "_Zygote | None":
        """Return a zygote without crashes: a crash may have revealed its memory layout."""
        with self._lock:
            if self._zygote is not None and not self._zygote.is_fresh:
                self._zygote.retire()
                self._zygote = None
            if self._zygote is None and self._can_fork:
                try:
                    self._zygote = _Zygote(self._modules, self._packages)
                except (ConfinedFailed, OSError) as error:
                    self._can_fork = False
                    log.warning("confined.session_zygote_unavailable", reason=str(error))
            return self._zygote


class _Zygote:
    """The parent's end of a zygote."""

    def __init__(self, modules: Sequence[str], packages: Sequence[str]) -> None:
        self._packages = tuple(packages)
        self._control, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = tempfile.TemporaryDirectory(prefix="framekiln-session-")
        Path(self._folder.name).chmod(_UNCHANGEABLE)
        self._lock = threading.Lock()
        self._children: dict[int, SessionProcess] = {}
        self._forks = 0
        self._is_retired = self._has_ended = False
        self._failure: OSError | None = None
        self.is_fresh = True
        self._ready = threading.Event()
        self._is_ready = False
        threading.Thread(target=self._run, args=(modules,), name="zygote", daemon=True).start()
        if not self._ready.wait(_START_S) or not self._is_ready:
            self.close()
            reason = self._failure or "Landlock and seccomp are needed"
            raise ConfinedFailed(f"children cannot be isolated from each other: {reason}")

    def fork(self, limits: ResourceLimits, args: dict[str, Any]) -> SessionProcess:
        """Fork a child."""
        order = _order(limits, args, Path(self._folder.name), self._packages)
        with self._lock:
            self._forks += 1
            number = self._forks
            process, theirs, complaints = _new_process(lambda sent: self._signal(number, sent))
            if self._has_ended:
                process.set_end(-signal.SIGKILL)
            else:
                self._children[number] = process
        with theirs, complaints, order_file(order, has_landlock=True) as words:
            self._send({"fork": number}, [words, theirs, complaints])
        return process

    def retire(self) -> None:
        """End it once it has no children left."""
        with self._lock:
            self._is_retired = True
            if self._children:
                return
        self.close()

    def close(self) -> None:
        """Close the control socket, which ends it with all its children."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)

    def _run(self, modules: tuple[str, ...]) -> None:
        """Start it and receive its messages until it ends."""
        isolation = strongest_sandbox().isolation
        is_alone = "1" if isolation is Isolation.NONE else "0"
        module = (_ZYGOTE, str(self._theirs.fileno()), is_alone, *modules)
        view = VisibleFiles(Path(self._folder.name), (), self._packages)
        try:
            with self._theirs:
                process = subprocess.Popen(
                    child_command(isolation, view, module),
                    env=child_environment(view),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(self._theirs.fileno(),),
                    cwd="/",
                    start_new_session=True,
                    umask=0o077,
                )
        except OSError as error:
            self._failure = error
            self._ready.set()
            return
        with suppress(OSError):
            while message := self._control.recv(MESSAGE_BYTES):
                self._note(json.loads(message))
        self._end(process)

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        self.is_fresh = False
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with self._lock:
            self._control.close()
            self._has_ended = True
            left, self._children = self._children, {}
        for child in left.values():
            child.set_end(-signal.SIGKILL)
        self._ready.set()
        self._folder.cleanup()

    def _note(self, words: dict[str, Any]) -> None:
        if "ready" in words:
            self._is_ready = bool(words["ready"])
            self._ready.set()
            return
        number, code = words["ended"]
        # Before anybody learns of the crash and asks for another child.
        if code < 0 and code != -signal.SIGKILL:
            self.is_fresh = False
        with self._lock:
            child = self._children.pop(number, None)
            is_over = self._is_retired and not self._children
        if child is not None:
            child.set_end(code)
        if is_over:
            self.close()

    def _signal(self, number: int, sent: signal.Signals) -> None:
        if number in self._children:
            self._send({"signal": [number, int(sent)]})

    def _send(self, words: dict[str, Any], files: Sequence[Any] = ()) -> None:
        numbers = array.array("i", [file.fileno() for file in files])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)] if files else []
        # If it is gone, its children are gone too, and their channels are closed.
        with suppress(OSError):
            self._control.sendmsg([json.dumps(words).encode()], rights)


def _spawn(
    limits: ResourceLimits, args: dict[str, Any], packages: tuple[str, ...]
) -> SessionProcess:
    """Start a child in its own sandbox."""
    isolation = strongest_sandbox().isolation
    started = threading.Event()
    running: list[subprocess.Popen[bytes]] = []

    def send(sent: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            for each in running:
                os.killpg(each.pid, sent)

    process, theirs, complaints = _new_process(send)

    def run() -> None:
        with tempfile.TemporaryDirectory(prefix="framekiln-session-") as folder:
            Path(folder).chmod(_UNCHANGEABLE)
            order = _order(limits, args, Path(folder), packages)
            view = VisibleFiles(Path(folder), (), packages)
            has_landlock = isolation is Isolation.NONE
            try:
                with theirs, complaints, order_file(order, has_landlock=has_landlock) as words:
                    child = subprocess.Popen(
                        child_command(isolation, view, (_CHILD, str(theirs.fileno()))),
                        env=child_environment(view),
                        stdin=words,
                        stdout=complaints,
                        stderr=complaints,
                        pass_fds=(theirs.fileno(),),
                        cwd="/",
                        start_new_session=True,
                        umask=0o077,
                    )
            except OSError as error:
                log.warning("confined.session_not_started", reason=str(error))
                process.set_end(1)
                started.set()
                return
            running.append(child)
            started.set()
            code = child.wait()
            send(signal.SIGKILL)
            process.set_end(code)

    threading.Thread(target=run, name="session", daemon=True).start()
    started.wait()
    return process


def _order(
    limits: ResourceLimits, args: dict[str, Any], folder: Path, packages: tuple[str, ...]
) -> ConfinedOrder:
    return ConfinedOrder(_TASK, args, limits, folder, is_writer=False, packages=packages)


def _new_process(
    send: Callable[[signal.Signals], None],
) -> tuple[SessionProcess, socket.socket, Any]:
    """Return a process that is not yet started, and the two files that it is given."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    # Says which process sends.
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    output, complaints = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    return SessionProcess(ours, send, output), theirs, os.fdopen(complaints, "wb", buffering=0)


def signal_of(code: int | None) -> signal.Signals | None:
    """Return the signal that ended a child; bubblewrap reports it as shells do."""
    if code is None:
        return None
    number = -code if code < 0 else code - 128
    return signal.Signals(number) if number in set(signal.Signals) else None
