"""Server-sent events that the strictest known clients can read.

Such clients decode each network packet separately, so everything is pure ASCII; they treat unknown
event names as errors; and they wait forever on a stream that ends without a terminal event. So a
stream that breaks ends with an `error` event, and an error response on a stream route is one
`error` event with the right status code.

A stream may last for hours. So whoever follows it is authenticated again with the heartbeats.
"""

import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Protocol

import structlog
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from framekiln.identity.model import Caller
from framekiln.kit.errors import Blame, Forbidden, FramekilnError, RateLimited, Unauthenticated

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
EVENT_NAME = re.compile(r"[a-z][a-z0-9_.-]*")
TERMINAL_EVENT = re.compile(rb"^event: (?:complete|error)$", re.MULTILINE)
MAX_ERROR_CHARS = 1000
HEARTBEAT_S = 15.0
"""A stream sends something at least so often."""

Authentication = Callable[[], Awaitable[None]]
"""Raises `Unauthenticated` or `Forbidden` if a stream must end."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class TooManyStreams(RateLimited):
    """The key or the organization follows too much at a time."""

    code = "too_many_streams"


class StreamPlaces:
    """Counts the open event streams of this process, by organization and by key or user."""

    def __init__(self) -> None:
        self._open: Counter[object] = Counter()

    def take(self, caller: Caller, *, per_key: int, per_organization: int) -> "StreamPlace":
        """Return a place for one more stream of a caller, or raise `TooManyStreams`."""
        user = caller.user.id if caller.user else None
        limits: dict[object, tuple[int, str]] = {
            caller.api_key_id or user: (per_key, "key"),
            caller.organization.id: (per_organization, "organization"),
        }
        for owner, (most, name) in limits.items():
            if self._open[owner] >= most:
                raise TooManyStreams(
                    f"this {name} has {most} open event streams already: close one, or poll",
                    limit=most,
                )
        return StreamPlace(self._open, tuple(limits))


class StreamPlace:
    """The place of one stream; given back once."""

    def __init__(self, counts: Counter[object], owners: tuple[object, ...]) -> None:
        self._counts, self._owners = counts, owners
        counts.update(owners)

    def release(self) -> None:
        """Stop counting the stream."""
        self._counts.subtract(self._owners)
        for owner in self._owners:
            if not self._counts[owner]:
                del self._counts[owner]


class EventStream(StreamingResponse):
    """The response of a stream route; as `response_class` it also marks the route as one."""

    media_type = MEDIA_TYPE
    place: StreamPlace | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; then give the place back, however it ended."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self.place is not None:
                self.place.release()


class EncodedEvents(Protocol):
    """An async generator of encoded events."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """Encode one event; `data` must be plain finite JSON."""
    if not EVENT_NAME.fullmatch(name):
        raise ValueError(f"not an event name: {name!r}")
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return f"event: {name}\ndata: {text}\n\n".encode("ascii")


def error_event(text: str) -> bytes:
    """Encode the last event of a stream that failed: one line of plain text, not JSON."""
    line = " ".join(text.split()) or "something went wrong"
    plain = line[:MAX_ERROR_CHARS].encode("ascii", "backslashreplace").decode()
    printable = "".join(char if char.isprintable() else " " for char in plain)
    return f"event: error\ndata: {printable}\n\n".encode("ascii")


def stream_response(
    events: EncodedEvents, authenticate: Authentication, place: StreamPlace | None = None
) -> EventStream:
    """Answer with `events`, and with an `error` event if they break.

    They end when `authenticate` raises. It is called before an event, but not before each of many.
    Errors that need their own status code must be raised before this is called.
    """
    response = EventStream(_with_terminal_event(events, authenticate), headers=HEADERS)
    response.place = place
    return response


def error_response(status: int, text: str, *, headers: Mapping[str, str]) -> Response:
    """Answer a stream route with an error."""
    return Response(
        error_event(text),
        status_code=status,
        media_type=MEDIA_TYPE,
        headers={**HEADERS, **headers},
    )


async def _with_terminal_event(
    events: EncodedEvents, authenticate: Authentication
) -> AsyncIterator[bytes]:
    had_last_word = False
    checked_at_s = time.monotonic()
    async with aclosing(events):
        try:
            async for encoded in events:
                # A third, so that it ends at most a third after the next heartbeat was due.
                if time.monotonic() - checked_at_s >= HEARTBEAT_S / 3:
                    await authenticate()
                    checked_at_s = time.monotonic()
                had_last_word = had_last_word or TERMINAL_EVENT.search(encoded) is not None
                yield encoded
        except Exception as error:
            # The client must see an end in any case; the log has the details.
            if not isinstance(error, Unauthenticated | Forbidden):
                log.exception("event_stream.failed")
            # A byte after the terminal event breaks known clients.
            if not had_last_word:
                yield error_event(_error_text(error))


def _error_text(error: Exception) -> str:
    if isinstance(error, FramekilnError) and error.blame is not Blame.US:
        return error.message
    request_id = structlog.contextvars.get_contextvars().get("request_id", "unknown")
    return f"internal error; the request id is {request_id}"
