"""Uploads go on at the missing byte, whatever breaks, and give up when nothing helps."""

import random
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from framekiln.client import uploads
from framekiln.client.connection import ServiceConnection
from framekiln.client.errors import LocalFileUnusable, ServiceRefused, ServiceUnreachable
from framekiln.client.files import guess_type
from framekiln.client.uploads import RemoteUploads, file_md5, file_size
from tests.support.timeouts import TIMEOUT_S
from tests.unit.client.upload_service import UploadService

DATA = random.Random(1).randbytes(1000)
Send = Callable[[UploadService], list[tuple[int, int]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "film.mp4"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def send(path: Path, monkeypatch: pytest.MonkeyPatch) -> Send:
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 300)

    def run(endpoints: UploadService) -> list[tuple[int, int]]:
        reports: list[tuple[int, int]] = []
        connection = ServiceConnection(
            "http://service",
            "ef_a_b",
            retry_within_s=TIMEOUT_S,
            transport=httpx.MockTransport(endpoints),
            sleep=lambda _: None,
        )
        sent = RemoteUploads(connection).send_file(
            "/upload", path, lambda *each: reports.append(each)
        )
        connection.perform(sent)
        return reports

    return run


def test_chunks_are_sent_in_order(send: Send) -> None:
    service = UploadService(len(DATA))
    assert send(service) == [(0, 1000), (300, 1000), (600, 1000), (900, 1000), (1000, 1000)]
    assert service.data == DATA
    assert service.asked == [
        "GET",
        *(f"POST bytes {a}-{min(a + 299, 999)}/1000" for a in (0, 300, 600, 900)),
    ]


def test_stored_bytes_are_not_sent_again(send: Send) -> None:
    service = UploadService(len(DATA), data=DATA[:777])
    send(service)
    assert service.asked == ["GET", "POST bytes 777-999/1000"]
    assert service.data == DATA
    done = UploadService(len(DATA), data=DATA)
    send(done)
    assert done.asked == ["GET"]


def test_a_broken_upload_is_resumed(send: Send) -> None:
    service = UploadService(len(DATA), faults=[None, None, "cut", None, "cut"])
    send(service)
    assert service.data == DATA
    assert service.asked[2:6] == [
        "POST bytes 300-599/1000",
        "GET",
        "POST bytes 450-749/1000",
        "GET",
    ]


@pytest.mark.parametrize("trouble", ["lost", 500, 502, 503, 429])
def test_an_unavailable_service_is_retried(send: Send, trouble: int | str) -> None:
    service = UploadService(len(DATA), faults=[trouble, None, trouble, trouble, trouble])
    send(service)
    assert service.data == DATA


def test_after_a_lost_response_stored_bytes_are_not_sent_again(send: Send) -> None:
    """The bytes came, the answer did not."""
    service = UploadService(len(DATA), faults=[None, "lost"])
    send(service)
    assert service.asked[2:4] == ["GET", "POST bytes 300-599/1000"]


def test_a_refusal_is_not_retried_and_has_the_message_of_the_service(send: Send) -> None:
    service = UploadService(len(DATA), faults=[None, 410])
    with pytest.raises(ServiceRefused, match=r"words \(410\)") as caught:
        send(service)
    assert caught.value.details["error"] == "a_code"
    assert len(service.asked) == 2


def test_retries_stop_after_the_time_limit(path: Path) -> None:
    def refuse_connection(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    connection = ServiceConnection(
        "http://service", "k", retry_within_s=0.05, transport=httpx.MockTransport(refuse_connection)
    )
    with pytest.raises(ServiceUnreachable, match="does not answer"):
        connection.perform(RemoteUploads(connection).send_file("/upload", path, lambda *_: None))


def test_empty_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("empty", "missing", "."):
        with pytest.raises(LocalFileUnusable):
            file_size(tmp_path / name)
    with pytest.raises(LocalFileUnusable):
        file_md5(tmp_path / "missing")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.MP4", "video"),
        ("a.wav", "video"),
        ("a", "video"),
        ("a.JPG", "image"),
        ("a.svg", "image"),
        ("a.vtt", "caption"),
        ("a.json", "caption"),
    ],
)
def test_file_types_follow_from_the_name(name: str, expected: str) -> None:
    assert guess_type(Path(name)) == expected
