"""Requests made to do harm, sent to a running service beside somebody's ordinary work."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from framekiln.settings import Settings
from tests.support.service import Account, Service
from tests.support.timeouts import TIMEOUT_S

RENDERS = "/api/v1/renders"
SLOW_CLIENTS = 100
OBJECTS = b"[" + b"{}," * (3 << 20) + b"{}]"
LOOP = "{% for i in (1..9000) %}{{ i | append: 'x' }}{% endfor %}"


@pytest.fixture(scope="module")
def neighbour(shared_service: Service) -> Iterator[Account]:
    with shared_service.open_account("neighbour") as account:
        yield account


def serves(account: Account) -> bool:
    """Whether the service answers, and does a little work for an account."""
    fields = {"filename": "a", "type": "caption", "byte_size": 3}
    return (
        account.http.get("/healthz").is_success
        and account.http.post("/api/v1/files", json=fields).is_success
    )


def answers_beside(neighbour: Account, *requests: Callable[[], Any]) -> list[Any]:
    """Send requests at once; return their answers, after the neighbour was served meanwhile."""
    with ThreadPoolExecutor(len(requests)) as senders:
        sent = [senders.submit(each) for each in requests]
        served = [serves(neighbour)]
        while wait(sent, timeout=0.1).not_done:
            served.append(serves(neighbour))
        assert all(served)
        return [each.result() for each in sent]


def test_slow_senders_are_disconnected(neighbour: Account) -> None:
    address = urlsplit(neighbour.url)
    assert address.hostname
    assert address.port
    with ExitStack() as stack:
        slow = []
        for _ in range(SLOW_CLIENTS):
            client = socket.create_connection((address.hostname, address.port), TIMEOUT_S)
            slow.append(stack.enter_context(closing(client)))
            client.sendall(b"POST /api/v1/renders HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        assert serves(neighbour)
        for client in slow:
            assert client.recv(100).startswith(b"HTTP/1.1 408 ")


def test_json_bombs_are_refused(account: Account, neighbour: Account) -> None:
    unknown = f"{account.url}/api/v1/pipeline-callbacks/unknown"
    config = b'{"config": ' + OBJECTS[: 7 << 20] + b"]}"
    render, callback, plan = answers_beside(
        neighbour,
        lambda: account.http.post(RENDERS, content=OBJECTS),
        lambda: status_of(unknown, OBJECTS[: 4 << 20]),
        lambda: account.http.post("/v2/videos/plan", content=config),
    )
    assert (render.status_code, render.json()["limit_values"]) == (413, 200_000)
    assert callback in (404, "closed")
    assert (plan.status_code, "200000 values" in plan.text) == (413, True)


def status_of(url: str, body: bytes) -> int | str:
    """Return the status; the service may close the connection before it has the whole body."""
    try:
        return httpx.post(url, content=body, timeout=TIMEOUT_S).status_code
    except httpx.TransportError:
        return "closed"


def test_template_bombs_are_refused(account: Account, neighbour: Account) -> None:
    layers = [{"type": "text", "text": {"text": LOOP}}] * 400
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": layers}
    fields = {"name": "bomb", "config": config, "inputs": {}, "default_values": {}}
    bombs = [lambda: account.http.post("/v2/templates", json=fields)] * 2
    for answer in answers_beside(neighbour, *bombs):
        assert answer.status_code == 422
        assert "steps" in answer.json()["message"]


def test_configs_with_thousands_of_issues_are_refused(account: Account, neighbour: Account) -> None:
    video = {"type": "video", "file": "https://media.test/a.mp4"}
    layers = [{**video, "transitions": [{"type": "keyframe"}] * 200}] * 50
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": layers}
    bombs = [lambda: account.http.post("/v2/videos/plan", json={"config": config})] * 2
    for answer in answers_beside(neighbour, *bombs):
        assert answer.status_code == 422
        assert answer.json()["issues"][0]["path"] == "layers.0.transitions.0"


def test_event_streams_over_the_limit_are_refused(account: Account, neighbour: Account) -> None:
    most = Settings.model_fields["event_streams_per_key"].default
    # Without HTML, it waits for its bundle.
    created = account.http.post(RENDERS, json={"width": 64, "height": 64})
    path = f"{RENDERS}/{created.json()['id']}/progress"
    with ExitStack() as stack:
        statuses = [
            stack.enter_context(account.http.stream("GET", path)).status_code
            for _ in range(most + 5)
        ]
        assert statuses == [200] * most + [429] * 5
        assert serves(neighbour)
