"""Limits of HTTP connections: how many there are, and how long a client may keep one waiting.

A request costs only the count of its bytes. Once a second, one task looks at all connections and
closes those that are late. A slow upload may go on for as long as bytes keep coming.
"""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Any, Final

import httptools
import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from framekiln.api.errors import RETRY_AFTER_S
from framekiln.settings import Settings

MAX_HEAD_BYTES: Final = 32 << 10
MIN_BODY_BYTES: Final = 1 << 10
"""What a body must bring within each timeout, unless it ends."""
MAX_UNREAD_BYTES: Final = 256 << 10
"""A longer rest of a body that the response did not wait for closes the connection."""
MAX_PIPELINED: Final = 100
"""Requests that a client may send before the first of them is answered."""
_LOOK_EVERY_S: Final = 1.0
_MAX_REFUSED: Final = 100

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ConnectionLimits:
    """The limits of one api process."""

    head_timeout_s: float
    """From the first byte of a request, or from the connection, to the end of its headers."""
    body_timeout_s: float
    connections: int
    connections_per_address: int
    """0 means no limit."""
    proxies: frozenset[str] = frozenset()
    """Addresses and networks whose connections are those of many clients."""

    @classmethod
    def of(cls, settings: Settings) -> "ConnectionLimits":
        """Return the limits in the settings."""
        return cls(
            settings.header_timeout_s,
            settings.body_timeout_s,
            settings.max_connections,
            settings.max_connections_per_address,
            settings.trusted_proxies,
        )

    def limits_address(self, address: str) -> bool:
        """Return whether the connections of an address are counted."""
        if not self.connections_per_address:
            return False
        try:
            client = ip_address(address)
        except ValueError:
            return True
        return not any(client in ip_network(proxy, strict=False) for proxy in self.proxies)


class Phase(Enum):
    """What the service waits for."""

    HEAD = "head"
    BODY = "body"
    UNREAD_BODY = "unread_body"
    """The rest of a body, after the response."""
    NOTHING = "nothing"
    """The service itself is at work, or the keep-alive timer is running."""


class MessagePart(Enum):
    """What the parser expects next."""

    NOTHING = "nothing"
    HEAD = "head"
    BODY = "body"


@dataclass
class WaitingTime:
    """How long a connection has been in its phase, and how many bytes it brought meanwhile."""

    phase: Phase = Phase.NOTHING
    request: object = None
    since_s: float = 0
    received_bytes: int = 0

    def is_over(
        self, phase: Phase, request: object, *, limits: ConnectionLimits, now: float
    ) -> bool:
        """Return whether the client is late; called once in a while with the current phase."""
        if phase is not self.phase or request is not self.request:
            self.phase, self.request = phase, request
            self._start_again(now)
            return False
        waited_s = now - self.since_s
        if phase is Phase.HEAD:
            return waited_s > limits.head_timeout_s
        if phase is Phase.UNREAD_BODY:
            return waited_s > limits.head_timeout_s or self.received_bytes > MAX_UNREAD_BYTES
        if phase is Phase.BODY and waited_s > limits.body_timeout_s:
            if self.received_bytes < MIN_BODY_BYTES:
                return True
            self._start_again(now)
        return False

    def _start_again(self, now: float) -> None:
        self.since_s, self.received_bytes = now, 0


@dataclass(frozen=True)
class Refusal:
    """A response that is written without the application."""

    status: HTTPStatus
    code: str
    message: str

    def encode(self) -> bytes:
        """Return the whole response."""
        body = json.dumps({"error": self.code, "message": self.message}).encode()
        # 408 ends this request only: the same one may be sent again at once.
        retry = "" if self.status == 408 else f"Retry-After: {RETRY_AFTER_S}\r\n"
        head = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n"
            "Content-Type: application/json\r\nCache-Control: no-store\r\n"
            f"Content-Length: {len(body)}\r\n{retry}Connection: close\r\n\r\n"
        )
        return head.encode() + body


class ConnectionTable:
    """The open connections of a server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: set[BoundedProtocol] = set()
        self._refused: set[BoundedProtocol] = set()
        self._by_address: Counter[str] = Counter()

    def protocol(self, **options: Any) -> "BoundedProtocol":
        """Return the protocol of a new connection, with uvicorn's options."""
        return BoundedProtocol(self, **options)

    async def watch(self) -> None:
        """Close late connections, for ever."""
        loop = asyncio.get_running_loop()
        shortest_s = min(self.limits.head_timeout_s, self.limits.body_timeout_s)
        while True:
            await asyncio.sleep(min(_LOOK_EVERY_S, shortest_s / 4))
            for refused in [*self._refused]:
                refused.transport.close()
            for protocol in [*self._open]:
                try:
                    protocol.close_if_late(loop.time())
                except Exception:
                    # Others that are late must not stay open because of it.
                    log.exception("connection.look_failed", address=protocol.address)

    def add(self, protocol: "BoundedProtocol") -> Refusal | None:
        """Count a connection; return the refusal if there are too many."""
        self._open.add(protocol)
        self._by_address[protocol.address] += 1
        most = self.limits.connections_per_address
        is_over = self._by_address[protocol.address] > most
        if is_over and self.limits.limits_address(protocol.address):
            message = f"there are {most} connections from {protocol.address} already: close some"
            return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", message)
        if len(self._open) > self.limits.connections:
            message = f"there are {self.limits.connections} connections already: try again later"
            return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message)
        return None

    def refuse(self, protocol: "BoundedProtocol") -> None:
        """Stop counting a connection that is answered and will be closed."""
        self.remove(protocol)
        # Closed later, when it is read: unread bytes would make the kernel drop the response.
        if len(self._refused) < _MAX_REFUSED:
            self._refused.add(protocol)
        else:
            protocol.transport.close()

    def remove(self, protocol: "BoundedProtocol") -> None:
        """Forget a connection."""
        self._refused.discard(protocol)
        if protocol in self._open:
            self._open.discard(protocol)
            self._by_address[protocol.address] -= 1
            if not self._by_address[protocol.address]:
                del self._by_address[protocol.address]


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's connection, with the limits of a `ConnectionTable`.

    The parser has no limit of its own for headers and trailers, and does not ask for `Host`.
    """

    def __init__(self, table: ConnectionTable, **options: Any) -> None:
        super().__init__(**options)
        self._table = table
        self._waiting = WaitingTime()
        self._is_refused = False
        self._part = MessagePart.NOTHING
        self._head_bytes = 0
        self._host_count = 0
        self._silent_bytes = 0
        """Bytes after those with which the parser last passed something on: it holds them."""
        self._running: RequestResponseCycle | None = None
        self.address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or refuse it with an answer."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        refusal = self._table.add(self)
        if refusal is not None:
            log.info("connection.refused", address=self.address, reason=refusal.message)
            self._is_refused = True
            transport.write(refusal.encode())
            transport.write_eof()
            self._table.refuse(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; tell the application, which may be sending events."""
        self._table.remove(self)
        super().connection_lost(exc)
        # uvicorn only tells the last request, which may still wait for this one.
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Count the bytes and handle them."""
        if len(data) > MAX_HEAD_BYTES and self._part is not MessagePart.BODY:
            # In parts, so that what the parser holds is counted.
            for begin in range(0, len(data), MAX_HEAD_BYTES):
                self.data_received(data[begin : begin + MAX_HEAD_BYTES])
            return
        if self._is_refused or self.transport.is_closing():
            return
        self._waiting.received_bytes += len(data)
        self._silent_bytes += len(data)
        self._unset_keepalive_if_required()
        self._feed(data)
        if self._silent_bytes > MAX_HEAD_BYTES or len(self.pipeline) > MAX_PIPELINED:
            self._refuse_request("too much at a time")

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._part = MessagePart.HEAD
        self._head_bytes = self._host_count = self._silent_bytes = 0

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count_head(len(url))
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._count_head(len(name) + len(value))
        name = name.lower()
        if name == b"host":
            self._host_count += 1
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        if self._part is MessagePart.HEAD:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Start the application."""
        if self._host_count != 1 and (self._host_count or self.parser.get_http_version() == "1.1"):
            raise ValueError("a request has one Host")
        self._silent_bytes = 0
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ValueError("this is no proxy")
            return
        self._part = MessagePart.BODY
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._silent_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._silent_bytes = 0
        if not self.parser.should_upgrade():
            self._part = MessagePart.NOTHING
            super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def close_if_late(self, now: float) -> None:
        """Close the connection if the client keeps it waiting for too long."""
        phase = self._phase()
        if not self._waiting.is_over(phase, self.cycle, limits=self._table.limits, now=now):
            return
        log.info("connection.timed_out", address=self.address, phase=phase.value)
        self._answer_late(phase)
        self.transport.close()

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._decline_upgrade(data[offer.args[0] :])
        except httptools.HttpParserError:
            self._refuse_request("not HTTP, or too much of it")

    def _decline_upgrade(self, rest: bytes) -> None:
        """Read the request again without its wish for another protocol.

        The parser takes what follows for that protocol, also the body of the request.
        """
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % each for each in self.headers if each[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self._feed(b"\r\n".join([*lines, b"", b""]) + rest)

    def _count_head(self, byte_count: int) -> None:
        """Raise if a head is too long; the parser turns that into an error of its own."""
        self._silent_bytes = 0
        self._head_bytes += byte_count
        if self._head_bytes > MAX_HEAD_BYTES:
            raise ValueError(f"the head of a request has more than {MAX_HEAD_BYTES} bytes")

    def _refuse_request(self, reason: str) -> None:
        if not self.transport.is_closing():
            log.info("connection.refused", address=self.address, reason=reason)
            self.send_400_response("Invalid HTTP request received.")

    def _phase(self) -> Phase:
        if self.transport.is_closing():
            return Phase.NOTHING
        if self.cycle is None or self.cycle.response_complete:
            if self._part is MessagePart.BODY:
                return Phase.UNREAD_BODY
            return Phase.HEAD if self.timeout_keep_alive_task is None else Phase.NOTHING
        # The client waits for us while reading is paused, or until it is told to continue.
        is_our_turn = self.flow.read_paused or self.cycle.waiting_for_100_continue
        return Phase.BODY if self.cycle.more_body and not is_our_turn else Phase.NOTHING

    def _answer_late(self, phase: Phase) -> None:
        limits = self._table.limits
        # Browsers open connections in advance: one without a byte is closed silently.
        if phase is Phase.HEAD and self._part is MessagePart.HEAD:
            message = f"the headers were not complete after {limits.head_timeout_s:g} s"
        elif phase is Phase.BODY and not self.cycle.response_started:
            message = (
                f"the body brought less than {MIN_BODY_BYTES} bytes in {limits.body_timeout_s:g} s"
            )
        else:
            return
        late = Refusal(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", message)
        self.transport.write(late.encode())
