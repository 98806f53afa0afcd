"""Chrome DevTools Protocol over a pipe: calls, events, sessions.

Synchronous on purpose: one thread drives a page step by step, and an event loop between the steps
would only add latency to every frame. Listeners are called while a call waits, so a listener may
post messages but must never wait for a response.
"""

import json
import os
import select
import time
from collections.abc import Callable
from typing import Any, Final

from framekiln.capture.errors import BrowserDied, BrowserTimeout, PageOverLimit, ProtocolError
from framekiln.kit.cancellation import CHECK_EVERY_S, check_cancelled

Params = dict[str, Any]
Listener = Callable[[Params], None]

_READ_BYTES: Final = 1 << 20
_MESSAGE_BYTES: Final = 128 << 20
# What may wait here while the browser reads from us.
_WAITING_MESSAGES: Final = 4
_WRITE_WITHIN_S: Final = 30.0


class CdpConnection:
    """One browser's debugging pipe. Owned by one thread at a time."""

    def __init__(self, *, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self.max_message_bytes = _MESSAGE_BYTES
        """A page can make the browser send long messages, such as text for its console."""
        self.write_within_s = _WRITE_WITHIN_S
        """How long the browser may read nothing of what it is sent."""
        self._is_cut = False
        self._received = bytearray()
        self._scanned = 0
        self._last_id = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._abandoned: set[int] = set()
        self._listeners: dict[tuple[str, str | None], Listener] = {}
        self._dispatching = False
        self._answering_s = 0.0

    @property
    def now_s(self) -> float:
        """A clock for deadlines of the browser: it is stopped while a listener runs.

        A fetch for a page may take us minutes, which is not the fault of the page.
        """
        return time.monotonic() - self._answering_s

    def listen(self, event: str, session: str | None, listener: Listener) -> None:
        """Call `listener(params)` for every such event of the session from now on."""
        self._listeners[event, session] = listener

    def forget(self, session: str) -> None:
        """Remove all listeners of a session that has ended."""
        self._listeners = {k: v for k, v in self._listeners.items() if k[1] != session}

    def call(
        self, method: str, params: Params | None = None, *, session: str | None, within_s: float
    ) -> dict[str, Any]:
        """Send a command and wait for its result."""
        return self.wait(self.post(method, params, session=session), method, within_s=within_s)

    def post(self, method: str, params: Params | None = None, *, session: str | None) -> int:
        """Send a command without waiting; `wait` or `abandon` the id it returns."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        self._write(json.dumps(message, separators=(",", ":")).encode() + b"\0")
        return self._last_id

    def abandon(self, message_id: int) -> None:
        """Discard the response of a posted command when it arrives."""
        if self._answers.pop(message_id, None) is None:
            self._abandoned.add(message_id)

    def wait(self, message_id: int, method: str, *, within_s: float) -> dict[str, Any]:
        """Wait for the result of a posted command."""
        deadline = self.now_s + within_s
        while message_id not in self._answers:
            if not self._receive(deadline):
                self._abandoned.add(message_id)
                raise BrowserTimeout(f"{method} did not answer within {within_s:g} s")
        answer = self._answers.pop(message_id)
        if "error" in answer:
            raise ProtocolError(f"{method}: {answer['error'].get('message', answer['error'])}")
        result: dict[str, Any] = answer["result"]
        return result

    def has_answer(self, message_id: int, *, within_s: float) -> bool:
        """Wait for the response to a posted command; return whether it has arrived."""
        return self.pump_until(lambda: message_id in self._answers, within_s=within_s)

    def pump_until(self, done: Callable[[], bool], *, within_s: float) -> bool:
        """Deliver events until `done()`; return False on timeout."""
        deadline = self.now_s + within_s
        while not done():
            if not self._receive(deadline):
                return done()
        return True

    def close(self) -> None:
        """Close both ends; the browser exits when its pipe closes."""
        for fd in (self._read_fd, self._write_fd):
            os.close(fd)

    def _receive(self, deadline: float) -> bool:
        """Read what has arrived; wait until the deadline for at least one message."""
        if self._dispatching:
            raise RuntimeError("an event listener may not wait for the browser")
        while (message := self._next_message()) is None:
            check_cancelled(once=True)
            remaining_s = deadline - self.now_s
            if remaining_s <= 0:
                return False
            wait_s = min(remaining_s, CHECK_EVERY_S)
            if select.select([self._read_fd], [], [], wait_s)[0]:
                self._read()
        if "id" in message:
            self._file_answer(message)
        else:
            self._dispatch(message)
        return True

    def _file_answer(self, message: dict[str, Any]) -> None:
        if message["id"] in self._abandoned:
            self._abandoned.discard(message["id"])
        else:
            self._answers[message["id"]] = message

    def _dispatch(self, message: dict[str, Any]) -> None:
        listener = self._listeners.get((message["method"], message.get("sessionId")))
        if listener is None:
            return
        self._dispatching = True
        begun_s = time.monotonic()
        try:
            listener(message["params"])
        finally:
            self._dispatching = False
            self._answering_s += time.monotonic() - begun_s

    def _next_message(self) -> dict[str, Any] | None:
        end = self._received.find(b"\0", self._scanned)
        if (len(self._received) if end < 0 else end) > self.max_message_bytes:
            raise self._too_much()
        if end < 0:
            self._scanned = len(self._received)
            return None
        message: dict[str, Any] = json.loads(self._received[:end])
        del self._received[: end + 1]
        self._scanned = 0
        return message

    def _read(self) -> None:
        try:
            data = os.read(self._read_fd, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            raise BrowserDied(f"the browser's pipe broke: {error}") from error
        if not data:
            raise BrowserDied("the browser closed its pipe")
        self._received += data
        if len(self._received) > _WAITING_MESSAGES * self.max_message_bytes:
            raise self._too_much()

    def _too_much(self) -> PageOverLimit:
        return PageOverLimit(
            f"the page sent more than {self.max_message_bytes >> 20} MiB at once, for example to"
            " its console; write less"
        )

    def _write(self, data: bytes) -> None:
        """Write all of it; while the pipe is full, read what the browser sends.

        Otherwise two full pipes would wait for each other forever.
        """
        if self._is_cut:
            raise BrowserDied("the browser's pipe ends in the middle of a command")
        view = memoryview(data)
        deadline = time.monotonic() + self.write_within_s
        # Nothing can follow a part of a message.
        self._is_cut = True
        while view:
            try:
                view = view[os.write(self._write_fd, view) :]
            except BlockingIOError:
                self._wait_until_read(deadline)
            except OSError as error:
                raise BrowserDied(f"the browser's pipe broke: {error}") from error
            else:
                deadline = time.monotonic() + self.write_within_s
        self._is_cut = False

    def _wait_until_read(self, deadline: float) -> None:
        """Wait for a moment for room in a full pipe; read what the browser sends meanwhile."""
        check_cancelled(once=True)
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise BrowserTimeout(f"the browser read no command for {self.write_within_s:g} s")
        wait_s = min(remaining_s, CHECK_EVERY_S)
        if select.select([self._read_fd], [self._write_fd], [], wait_s)[0]:
            self._read()
