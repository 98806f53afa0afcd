"""The connection: keys, errors, and downloads that are whole or not there."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from framekiln.client import Client
from framekiln.client.errors import ServiceRefused, ServiceUnreachable
from tests.support.timeouts import TIMEOUT_S

RENDER = {"id": "r", "status": "complete"}


def client(*answers: httpx.Response | Exception) -> tuple[Client, list[httpx.Request]]:
    waiting, asked = list(answers), []

    def service(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        answer = waiting.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    options = {"transport": httpx.MockTransport(service), "sleep": lambda _: None}
    return Client("http://service", "ef_secret_id", retry_within_s=TIMEOUT_S, **options), asked


def test_every_request_sends_the_key() -> None:
    service, asked = client(httpx.Response(200, json=RENDER))
    service.renders.get("r")
    assert asked[0].headers["authorization"] == "Bearer ef_secret_id"


def test_reads_are_retried_and_creations_are_not() -> None:
    service, asked = client(httpx.ReadError("lost"), httpx.Response(200, json=RENDER))
    assert service.renders.get("r").status == "complete"
    service, asked = client(httpx.ReadError("lost"))
    with pytest.raises(ServiceUnreachable):
        service.renders.create(html="<p>")
    assert len(asked) == 1


def test_a_refusal_has_the_time_of_the_next_attempt() -> None:
    body = {"error": "quota_exceeded", "message": "used up", "quota": "queued_jobs"}
    refusal = httpx.Response(429, json=body, headers={"Retry-After": "30"})
    service, _ = client(refusal)
    with pytest.raises(ServiceUnreachable, match="used up") as caught:
        service.renders.create(html="<p>")
    assert caught.value.retry_after_s == 30
    assert caught.value.details["error"] == "quota_exceeded"


def test_retries_wait_as_long_as_retry_after_says() -> None:
    pauses: list[float] = []
    answers = iter(
        [
            httpx.Response(429, headers={"Retry-After": "30"}),
            httpx.Response(429, headers={"Retry-After": str(10 * int(TIMEOUT_S))}),
        ]
    )
    transport = httpx.MockTransport(lambda _: next(answers))
    service = Client(
        "http://service", "k", retry_within_s=TIMEOUT_S, transport=transport, sleep=pauses.append
    )
    # The second pause would end after `retry_within_s`.
    with pytest.raises(ServiceUnreachable):
        service.renders.get("r")
    assert pauses == [30]


def test_an_unknown_md5_returns_none() -> None:
    service, _ = client(httpx.Response(404, json={"error": "file_not_found", "message": "none"}))
    assert service.files.by_md5("a" * 32) is None
    service, _ = client(httpx.Response(401, json={"error": "unauthorized", "message": "no key"}))
    with pytest.raises(ServiceRefused, match="no key"):
        service.files.by_md5("a" * 32)


def test_a_response_without_json_is_refused() -> None:
    service, _ = client(httpx.Response(200, text="<html>"))
    with pytest.raises(ServiceRefused, match="address right"):
        service.files.get("f")


class BrokenBody(httpx.SyncByteStream):
    """A body that breaks off."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"half of"
        raise httpx.ReadError("lost")


def test_an_incomplete_download_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"
    service, _ = client(
        httpx.Response(200, stream=BrokenBody()), httpx.Response(200, content=b"all of it")
    )
    service.renders.download("r", path)
    assert path.read_bytes() == b"all of it"
    service, _ = client(httpx.Response(200, stream=BrokenBody()), httpx.Response(404, json={}))
    with pytest.raises(ServiceRefused):
        service.renders.download("r", path)
    assert path.read_bytes() == b"all of it"
    assert [each.name for each in tmp_path.iterdir()] == ["out.mp4"]
