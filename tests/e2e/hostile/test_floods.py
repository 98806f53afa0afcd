"""One organization floods the service; another's work is done right beside it."""

import time
from collections.abc import Iterator

import pytest

from tests.support.service import Account, Service
from tests.support.timeouts import TIMEOUT_S

FILES = "/api/v1/files"
RENDERS = "/api/v1/renders"
FLOOD = 20
PAGE = {"html": "<p>A neighbour", "width": 64, "height": 36, "fps": 10, "duration_ms": 200}
CAPTIONS = b"WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n"


@pytest.fixture
def neighbour(shared_service: Service) -> Iterator[Account]:
    with shared_service.open_account("neighbour of a flood") as account:
        yield account


def start_render(account: Account) -> str:
    answer = account.http.post(RENDERS, json=PAGE)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def upload(account: Account, number: int) -> str:
    data = CAPTIONS + f"\n00:03.000 --> 00:04.000\n{number}\n".encode()
    new = {"filename": "a.vtt", "type": "caption", "byte_size": len(data)}
    file_id = account.http.post(FILES, json=new).json()["id"]
    answer = account.http.post(f"{FILES}/{file_id}/upload", content=data)
    assert answer.is_success, answer.text
    return str(file_id)


def status_of(account: Account, render_id: str) -> str:
    return str(account.http.get(f"{RENDERS}/{render_id}").json()["status"])


def wait_complete(account: Account, render_id: str) -> None:
    give_up_at = time.monotonic() + TIMEOUT_S
    while (status := status_of(account, render_id)) != "complete":
        assert status != "failed"
        assert time.monotonic() < give_up_at
        time.sleep(0.1)


def test_a_render_completes_during_a_flood_of_requests(
    account: Account, neighbour: Account
) -> None:
    flood = [start_render(account) for _ in range(FLOOD)]
    for number in range(4):
        upload(account, number)
    try:
        mine = start_render(neighbour)
        upload(neighbour, 0)
        wait_complete(neighbour, mine)
        # In the order of requests, all of these would have come first.
        assert status_of(account, flood[-1]) not in ("rendering", "complete")
    finally:
        for render_id in reversed(flood):
            account.http.delete(f"{RENDERS}/{render_id}")
