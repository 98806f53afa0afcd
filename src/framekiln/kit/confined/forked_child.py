"""A child forked by a zygote, which waits in a sandbox with everything imported."""

import array
import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Self

from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.confined.order import ConfinedOrder, order_file
from framekiln.kit.confined.outcome import ConfinedChild, open_pipe
from framekiln.kit.confined.sandbox import (
    Isolation,
    Sandbox,
    VisibleFiles,
    child_command,
    child_environment,
)
from framekiln.kit.confined.spawned_child import start_process
from framekiln.kit.confined.zygote import MESSAGE_BYTES
from framekiln.kit.lazy_log import LazyLogger

_ZYGOTE: Final = "framekiln.kit.confined.zygote"
_START_S: Final = 30
_LEAVING_S: Final = 5

log = LazyLogger(__name__)


class ZygoteHandle:
    """The parent's end of a zygote."""

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket) -> None:
        self.users = 0
        self.orders = 0
        self.has_crashed = False
        self._process = process
        self._control = control
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._ready: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(control.fileno(), self._receive)

    @classmethod
    async def start(cls, sandbox: Sandbox, view: VisibleFiles, modules: Sequence[str]) -> Self:
        """Start a zygote and wait until it has imported everything."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        is_alone = "1" if sandbox.isolation is Isolation.NONE else "0"
        module = (_ZYGOTE, str(theirs.fileno()), is_alone, *modules)
        with theirs, ExitStack() as stack:
            stack.callback(ours.close)
            process = await start_process(
                child_command(sandbox.isolation, view, module),
                child_environment(view),
                stdin=asyncio.subprocess.DEVNULL,
                output=asyncio.subprocess.DEVNULL,
                passed=theirs.fileno(),
            )
            stack.pop_all()
        zygote = cls(process, ours)
        try:
            async with asyncio.timeout(_START_S):
                is_ready = await zygote._ready
            if not is_ready:
                raise ConfinedFailed("its children cannot be isolated on this machine")
        except BaseException:
            await asyncio.shield(zygote.close())
            raise
        return zygote

    @property
    def is_gone(self) -> bool:
        """Whether it has exited."""
        return self._control.fileno() < 0

    async def close(self) -> None:
        """End it, with all its children."""
        self._close_socket()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

    @asynccontextmanager
    async def forked(self, order: ConfinedOrder) -> AsyncIterator[ConfinedChild]:
        """Yield the running child; afterwards it has exited."""
        self.orders += 1
        number = self.orders
        end: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        async with (
            open_pipe() as (messages, messages_end),
            open_pipe() as (complained, complaint_end),
        ):
            with order_file(order, has_landlock=True) as order_input:
                self._ends[number] = end
                self._send({"fork": number}, [order_input, messages_end, complaint_end])
            messages_end.close()
            complaint_end.close()
            child = _ForkedChild(messages, zygote=self, number=number, end=end)
            listening = asyncio.create_task(child.collect_output(complained))
            try:
                yield child
            finally:
                await asyncio.shield(self._finish(child))
                listening.cancel()

    def send_signal(self, number: int, sent: signal.Signals) -> None:
        """Send a signal to a child, if it still runs."""
        if number in self._ends:
            self._send({"signal": [number, int(sent)]})

    async def _finish(self, child: "_ForkedChild") -> None:
        # A child that ended by a signal that was not ours has crashed.
        crashed = child.end.done() and child.end.result() < 0
        self.has_crashed = self.has_crashed or crashed
        child.signal(signal.SIGKILL)
        try:
            async with asyncio.timeout(_LEAVING_S):
                await asyncio.shield(child.end)
        except TimeoutError:
            log.warning("confined.zygote_unresponsive")
            await self.close()

    def _send(self, fields: dict[str, Any], files: Sequence[Any] = ()) -> None:
        numbers = array.array("i", [file.fileno() for file in files])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)] if files else []
        try:
            self._control.sendmsg([json.dumps(fields).encode()], rights)
        except OSError:
            self._close_socket()

    def _receive(self) -> None:
        try:
            message = self._control.recv(MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._close_socket()
            return
        fields = json.loads(message)
        if "ready" in fields and not self._ready.done():
            self._ready.set_result(bool(fields["ready"]))
        elif "ended" in fields:
            number, code = fields["ended"]
            self._end(number, code)

    def _end(self, number: int, code: int) -> None:
        end = self._ends.pop(number, None)
        if end is not None and not end.done():
            end.set_result(code)

    def _close_socket(self) -> None:
        """Close the socket, which ends the zygote and all its children."""
        if self.is_gone:
            return
        asyncio.get_running_loop().remove_reader(self._control.fileno())
        self._control.close()
        if not self._ready.done():
            self._ready.set_exception(ConfinedFailed("a zygote exited before it was ready"))
        for number in list(self._ends):
            self._end(number, -signal.SIGKILL)


@dataclass
class _ForkedChild(ConfinedChild):
    """One of many in a sandbox."""

    zygote: ZygoteHandle
    number: int
    end: asyncio.Future[int]

    def signal(self, number: signal.Signals) -> None:
        self.zygote.send_signal(self.number, number)

    async def wait(self) -> int:
        return await asyncio.shield(self.end)
