"""A loopback HTTP server that writes down what it gets and answers as told.

Stands in for other people's servers: webhook receivers and pipeline endpoints. Runs in threads of
its own, so it serves sync and async tests alike; from async tests call `wait_for` in a thread.
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
    """One request as it came; header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What to send back; `drop` closes the connection without a word."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0
    drop: bool = False


NO_ANSWER: Final = Answer(delay_s=3600)
"""Comes when the receiver is closed."""

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
        # Waits for the threads of open requests; their delays end at once.
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
        """Answer every request like this from now on."""
        self.answer_by(lambda _: answer)

    def answer_next(self, *answers: Answer) -> None:
        """Answer the next requests with these, one each, before the standing answer."""
        with self._changed:
            self._next_answers.extend(answers)

    def answer_by(self, respond: Responder) -> None:
        """Let a function decide the answer to each request from now on."""
        with self._changed:
            self._respond = respond

    def wait_for(self, count: int, *, timeout_s: float = TIMEOUT_S) -> list[ReceivedRequest]:
        """Return once `count` requests have arrived; raise TimeoutError when they do not."""
        until_s = time.monotonic() + timeout_s
        with self._changed:
            while len(self._requests) < count:
                if not self._changed.wait(until_s - time.monotonic()):
                    message = f"{len(self._requests)} of {count} requests after {timeout_s} s"
                    raise TimeoutError(message)
            return list(self._requests)

    def take(self, request: ReceivedRequest) -> Answer:
        """Record a request and return its answer once its delay is over; for the server's use."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            answer = self._next_answers.popleft() if self._next_answers else None
            respond = self._respond
        # Outside the lock: a responder may ask the receiver what came before.
        answer = answer or respond(request)
        self._closing.wait(answer.delay_s)
        return answer


class _Server(ThreadingHTTPServer):
    """Keeps hold of its threads, so that none outlives the test."""

    daemon_threads = False

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self._open: set[socket.socket] = set()
        self._lock = Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def stop_reading(self) -> None:
        """Wait no longer for clients that opened a connection and said nothing."""
        with self._lock:
            for each in self._open:
                # Not the method of a TLS socket: that would make its answer plain text.
                with suppress(OSError):
                    socket.socket.shutdown(each, socket.SHUT_RD)

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay quiet: clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    """Reads one request per connection (HTTP/1.0 closes after the answer)."""

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
