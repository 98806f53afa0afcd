"""A loopback HTTP server that records requests and sends configured responses.

It replaces external servers: webhook receivers and pipeline endpoints. It runs in its own threads,
so it serves sync and async tests alike; in async tests call `wait_for` in a thread.
"""

import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Event, Lock, Thread
from types import TracebackType
from typing import Any, Final, Self

from tests.support.timeouts import TIMEOUT_S


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as it arrived; header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """The response; `drop` closes the connection without one."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0
    drop: bool = False


NO_ANSWER: Final = Answer(delay_s=3600)
"""Sent when the receiver is closed."""

Responder = Callable[[ReceivedRequest], Answer]


class Receiver:
    """The server; use it as a context manager."""

    def __init__(self) -> None:
        self._requests: list[ReceivedRequest] = []
        self._next_answers: deque[Answer] = deque()
        self._respond: Responder = lambda _: Answer()
        self._changed = Condition()
        self._closing = Event()
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), name="receiver")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.stop_reading()
        # Waits for the threads of open requests; their delays end immediately.
        self._server.server_close()

    @property
    def port(self) -> int:
        return self._server.server_port

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def requests(self) -> list[ReceivedRequest]:
        """Everything received so far, in order of arrival."""
        with self._changed:
            return list(self._requests)

    def answer(self, answer: Answer) -> None:
        """Send this response to every request from now on."""
        self.answer_by(lambda _: answer)

    def answer_next(self, *answers: Answer) -> None:
        """Send these responses to the next requests, one each, before the standing one."""
        with self._changed:
            self._next_answers.extend(answers)

    def answer_by(self, respond: Responder) -> None:
        """Call a function for the response to each request from now on."""
        with self._changed:
            self._respond = respond

    def wait_for(self, count: int, *, timeout_s: float = TIMEOUT_S) -> list[ReceivedRequest]:
        """Return when `count` requests have arrived; raise TimeoutError if they do not."""
        until_s = time.monotonic() + timeout_s
        with self._changed:
            while len(self._requests) < count:
                if not self._changed.wait(until_s - time.monotonic()):
                    message = f"{len(self._requests)} of {count} requests after {timeout_s} s"
                    raise TimeoutError(message)
            return list(self._requests)

    def take(self, request: ReceivedRequest) -> Answer:
        """Record a request and return its response after its delay; called by the server."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            answer = self._next_answers.popleft() if self._next_answers else None
            respond = self._respond
        # Outside the lock: a responder may query earlier requests.
        answer = answer or respond(request)
        self._closing.wait(answer.delay_s)
        return answer


class _Server(ThreadingHTTPServer):
    """Keeps track of its threads, so that none outlives the test."""

    daemon_threads = False

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self._open: set[socket.socket] = set()
        self._lock = Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its own thread."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def stop_reading(self) -> None:
        """Stop waiting for clients that opened a connection and sent nothing."""
        with self._lock:
            for each in self._open:
                # Not the method of a TLS socket: its response would become plain text.
                with suppress(OSError):
                    socket.socket.shutdown(each, socket.SHUT_RD)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors: clients that disconnect are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    """Reads one request per connection (HTTP/1.0 closes after the response)."""

    server: _Server
    timeout = TIMEOUT_S

    def handle_any(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = ReceivedRequest(self.command, self.path, headers, self._read_body(headers))
        answer = self.server.receiver.take(request)
        if answer.drop:
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing to the test's output."""

    def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)
