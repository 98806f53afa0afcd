"""Server-sent events as the strictest client wants them."""

import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect
from structlog.testing import capture_logs

from framekiln.api import sse
from framekiln.api.sse import (
    StreamPlaces,
    TooManyStreams,
    error_event,
    error_response,
    event,
    stream_response,
)
from framekiln.identity.errors import KeyRevoked
from framekiln.identity.model import ApiKey, Caller, Organization, User
from framekiln.kit.errors import CompositionFailed, Forbidden, FramekilnError, Unavailable
from framekiln.kit.ids import ApiKeyId, OrganizationId, UserId


def test_an_event_is_a_name_and_json() -> None:
    assert event("size", {"size": 12}) == b'event: size\ndata: {"size":12}\n\n'


def test_data_is_ascii() -> None:
    encoded = event("progress", {"step": "Gr\u00fc\u00dfe \U0001f525\n\u2028"})
    assert encoded.isascii()
    assert encoded.count(b"\n") == 3
    assert json.loads(encoded.split(b"data: ")[1]) == {"step": "Gr\u00fc\u00dfe \U0001f525\n\u2028"}


@pytest.mark.parametrize("name", ["", "two words", "a\nb", "Size", "1st"])
def test_invalid_event_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="event name"):
        event(name, {})


def test_nan_and_infinity_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        event("progress", {"progress": float("nan")})


def test_an_error_is_one_line_of_plain_text() -> None:
    assert error_event("no\nsuch\r\n\nrender") == b"event: error\ndata: no such render\n\n"
    assert error_event("  ") == b"event: error\ndata: something went wrong\n\n"
    assert error_event("Gr\u00fc\u00dfe") == b"event: error\ndata: Gr\\xfc\\xdfe\n\n"


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_an_error_of_any_text_is_one_event(text: str) -> None:
    encoded = error_event(text)
    assert encoded.isascii()
    assert encoded.startswith(b"event: error\ndata: ")
    assert len(encoded.splitlines()) == 3


async def still_valid() -> None:
    """A key that nobody revokes."""


async def sent_by(
    events: AsyncGenerator[bytes], authenticate: sse.Authentication = still_valid
) -> bytes:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nobody asks")

    scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
    await stream_response(events, authenticate)(scope, receive, send)
    start = sent[0]
    headers = dict(start["headers"])
    assert start["status"] == 200
    assert headers[b"content-type"].startswith(b"text/event-stream")
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"x-accel-buffering"] == b"no"
    return b"".join(message.get("body", b"") for message in sent[1:])


async def test_a_stream_sends_its_events_in_order() -> None:
    async def events() -> AsyncGenerator[bytes]:
        yield event("size", {"size": 1})
        yield event("complete", {})

    assert await sent_by(events()) == event("size", {"size": 1}) + event("complete", {})


@pytest.mark.parametrize("error", [KeyRevoked("the key is revoked"), Forbidden("not for you")])
async def test_a_stream_ends_when_its_caller_is_no_longer_allowed(
    error: FramekilnError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.0)
    checks = iter([None, error])

    async def authenticate() -> None:
        if (found := next(checks)) is not None:
            raise found

    async def events() -> AsyncGenerator[bytes]:
        for number in range(3):
            yield event("size", {"size": number})

    with capture_logs() as logs:
        sent = await sent_by(events(), authenticate)
    assert sent == event("size", {"size": 0}) + error_event(error.message)
    assert logs == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (CompositionFailed("the page shows nothing"), b"the page shows nothing"),
        (Unavailable("postgres at 10.0.0.7 is down"), b"internal error"),
        (KeyError("/etc/secret"), b"internal error"),
    ],
)
async def test_a_failing_stream_ends_with_an_error_event(error: Exception, message: bytes) -> None:
    async def events() -> AsyncGenerator[bytes]:
        yield event("size", {"size": 1})
        raise error

    body = await sent_by(events())
    last = body.removeprefix(event("size", {"size": 1}))
    assert last.startswith(b"event: error\ndata: " + message)
    assert b"secret" not in last
    assert b"10.0.0.7" not in last


async def test_nothing_follows_the_terminal_event() -> None:
    async def events() -> AsyncGenerator[bytes]:
        yield event("completion", {"count": 1}) + event("complete", {})
        raise KeyError("while tidying up")

    assert (await sent_by(events())).endswith(event("complete", {}))


def test_an_error_response_is_one_error_event() -> None:
    answer = error_response(404, "no such render", headers={"WWW-Authenticate": "Bearer"})
    assert answer.status_code == 404
    assert answer.body == error_event("no such render")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["www-authenticate"] == "Bearer"


def caller_of(organization: Organization, *, user: bool = False) -> Caller:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    if user:
        return Caller(organization, user=User(UserId(uuid4()), "a@b.test", at))
    key = ApiKey(ApiKeyId(uuid4()), organization.id, "key", "id", at, None, None)
    return Caller(organization, api_key=key)


def new_organization() -> Organization:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    return Organization(OrganizationId(uuid4()), "org", pipelines_enabled=False, created_at=at)


def test_streams_are_counted_by_key_and_by_organization() -> None:
    places = StreamPlaces()
    take = partial(places.take, per_key=2, per_organization=3)
    organization = new_organization()
    first, second = caller_of(organization), caller_of(organization, user=True)
    take(first)
    place = take(first)
    with pytest.raises(TooManyStreams, match="this key has 2 open event streams already"):
        take(first)
    take(second)
    with pytest.raises(TooManyStreams, match="this organization has 3 open"):
        take(second)
    take(caller_of(new_organization()))
    place.release()
    take(second)


@pytest.mark.parametrize("is_broken", [False, True])
async def test_a_finished_stream_frees_its_slot(is_broken: bool) -> None:
    places, caller = StreamPlaces(), caller_of(new_organization())

    async def events() -> AsyncGenerator[bytes]:
        yield event("complete", {})

    async def send(_message: Any) -> None:
        if is_broken:
            raise OSError("the client is gone")

    async def receive() -> Any:
        raise AssertionError("nobody asks")

    for _ in range(2):
        place = places.take(caller, per_key=1, per_organization=1)
        response = stream_response(events(), still_valid, place)
        with suppress(ClientDisconnect):
            await response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send)
