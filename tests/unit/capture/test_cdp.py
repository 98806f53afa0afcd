"""The debugging protocol over a real pair of pipes; the test plays the browser."""

import json
import os
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from framekiln.capture.cdp import CdpConnection
from framekiln.capture.errors import BrowserDied, BrowserTimeout, PageOverLimit, ProtocolError
from framekiln.capture.network import PAGE_URL, PageNetwork, Resource
from framekiln.kit.cancellation import WorkCancelled
from tests.support.cancelled import outcome_when_cancelled
from tests.support.timeouts import TIMEOUT_S


class Browser:
    """The other end of the pipes."""

    def __init__(self) -> None:
        self._read_fd, write_fd = os.pipe()
        read_fd, self._write_fd = os.pipe()
        self.connection = CdpConnection(read_fd=read_fd, write_fd=write_fd)
        self._received = b""

    def send(self, *messages: dict[str, Any]) -> None:
        self.writes(b"".join(json.dumps(message).encode() + b"\0" for message in messages))

    def writes(self, data: bytes) -> None:
        os.write(self._write_fd, data)

    def receive(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            self._received += os.read(self._read_fd, 1 << 16)
        line, _, self._received = self._received.partition(b"\0")
        heard: dict[str, Any] = json.loads(line)
        return heard

    def dies(self) -> None:
        for fd in (self._read_fd, self._write_fd):
            os.close(fd)


@pytest.fixture
def browser() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.connection.close()


def test_a_response_is_matched_to_its_request(browser: Browser) -> None:
    first = browser.connection.post("A.a", {"x": 1}, session="s")
    second = browser.connection.post("B.b", session=None)
    browser.send({"id": second, "result": {"n": 2}}, {"id": first, "result": {"n": 1}})
    assert browser.connection.wait(first, "A.a", within_s=TIMEOUT_S) == {"n": 1}
    assert browser.connection.wait(second, "B.b", within_s=TIMEOUT_S) == {"n": 2}
    asked = {"id": first, "method": "A.a", "params": {"x": 1}, "sessionId": "s"}
    assert browser.receive() == asked
    assert browser.receive() == {"id": second, "method": "B.b", "params": {}}


def test_a_message_may_arrive_in_pieces(browser: Browser) -> None:
    asked = browser.connection.post("A.a", session=None)
    data = json.dumps({"id": asked, "result": {"text": "ä" * 100_000}}).encode() + b"\0"

    def write() -> None:
        for start in range(0, len(data), 9999):
            browser.writes(data[start : start + 9999])

    writer = threading.Thread(target=write)
    writer.start()
    result = browser.connection.wait(asked, "A.a", within_s=TIMEOUT_S)
    writer.join()
    assert result == {"text": "ä" * 100_000}


def test_events_reach_the_listener_of_their_session(browser: Browser) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []

    def hear(session: str, params: dict[str, Any]) -> None:
        heard.append((session, params))

    for session in ("one", "two"):
        browser.connection.listen("E.e", session, partial(hear, session))
    browser.send(
        {"method": "E.e", "params": {"n": 1}, "sessionId": "two"},
        {"method": "E.e", "params": {"n": 2}, "sessionId": "one"},
        {"method": "E.e", "params": {"n": 3}},
        {"method": "F.f", "params": {"n": 4}, "sessionId": "one"},
    )
    assert browser.connection.pump_until(lambda: len(heard) == 2, within_s=TIMEOUT_S)
    assert heard == [("two", {"n": 1}), ("one", {"n": 2})]
    browser.connection.forget("one")
    browser.send({"method": "E.e", "params": {}, "sessionId": "one"})
    assert not browser.connection.pump_until(lambda: len(heard) == 3, within_s=0.05)


def test_a_refused_command_raises_an_error_with_its_name(browser: Browser) -> None:
    asked = browser.connection.post("A.a", session=None)
    browser.send({"id": asked, "error": {"code": -1, "message": "not now"}})
    with pytest.raises(ProtocolError, match=r"A\.a: not now"):
        browser.connection.wait(asked, "A.a", within_s=TIMEOUT_S)


def test_a_missing_response_times_out_and_a_late_one_is_dropped(browser: Browser) -> None:
    with pytest.raises(BrowserTimeout, match=r"A\.a did not answer within 0.01 s"):
        browser.connection.call("A.a", session=None, within_s=0.01)
    late = browser.receive()["id"]
    asked = browser.connection.post("B.b", session=None)
    browser.send({"id": late, "result": {}}, {"id": asked, "result": {"n": 1}})
    assert browser.connection.wait(asked, "B.b", within_s=TIMEOUT_S) == {"n": 1}


def test_the_response_of_an_abandoned_request_is_dropped(browser: Browser) -> None:
    early = browser.connection.post("A.a", session=None)
    asked = browser.connection.post("B.b", session=None)
    browser.send({"id": early, "error": {"message": "who cares"}}, {"id": asked, "result": {}})
    browser.connection.wait(asked, "B.b", within_s=TIMEOUT_S)
    browser.connection.abandon(early)
    with pytest.raises(BrowserTimeout):
        browser.connection.wait(early, "A.a", within_s=0.01)


def test_a_dead_browser_is_detected_when_reading_and_writing(browser: Browser) -> None:
    asked = browser.connection.post("A.a", session=None)
    browser.dies()
    with pytest.raises(BrowserDied, match="closed its pipe"):
        browser.connection.wait(asked, "A.a", within_s=TIMEOUT_S)
    with pytest.raises(BrowserDied, match="pipe broke"):
        browser.connection.post("A.a", session=None)


def test_two_full_pipes_do_not_deadlock(browser: Browser) -> None:
    """The browser reads nothing until all it has to say is taken."""
    noise = json.dumps({"method": "E.e", "params": {"x": "x" * 1_000_000}}).encode() + b"\0"
    heard: list[dict[str, Any]] = []

    def play() -> None:
        for start in range(0, len(noise), 4096):
            browser.writes(noise[start : start + 4096])
        heard.append(browser.receive())

    player = threading.Thread(target=play)
    player.start()
    browser.connection.post("A.a", {"x": "y" * 1_000_000}, session=None)
    player.join()
    assert heard[0]["params"] == {"x": "y" * 1_000_000}


def test_a_browser_that_reads_nothing_is_given_up(browser: Browser) -> None:
    browser.connection.write_within_s = 0.01
    with pytest.raises(BrowserTimeout, match=r"read no command for 0\.01 s"):
        browser.connection.post("A.a", {"x": "y" * 1_000_000}, session=None)
    with pytest.raises(BrowserDied, match="in the middle of a command"):
        browser.connection.post("B.b", session=None)


async def test_a_write_ends_when_the_work_is_cancelled(browser: Browser) -> None:
    browser.connection.write_within_s = TIMEOUT_S
    post = partial(browser.connection.post, "A.a", {"x": "y" * 1_000_000}, session=None)
    assert isinstance(await outcome_when_cancelled(post), WorkCancelled)


def test_a_listener_may_post_but_not_wait(browser: Browser) -> None:
    connection = browser.connection

    def wait(_: dict[str, Any]) -> None:
        connection.pump_until(lambda: False, within_s=1)

    posted: list[int] = []
    connection.listen("E.e", None, lambda _: posted.append(connection.post("A.a", session=None)))
    connection.listen("F.f", None, wait)
    browser.send({"method": "E.e", "params": {}})
    assert connection.pump_until(lambda: bool(posted), within_s=TIMEOUT_S)
    assert browser.receive()["method"] == "A.a"
    browser.send({"method": "F.f", "params": {}})
    with pytest.raises(RuntimeError, match="may not wait"):
        connection.pump_until(lambda: False, within_s=TIMEOUT_S)


def request(number: int, url: str, kind: str = "Image") -> dict[str, Any]:
    params = {"requestId": f"r{number}", "request": {"url": url}, "resourceType": kind}
    return {"method": "Fetch.requestPaused", "params": params, "sessionId": "s"}


@pytest.fixture
def network(browser: Browser) -> PageNetwork:
    known = {"https://a.example/x.png": Resource(b"png", "image/png")}
    network = PageNetwork(Resource(b"<p>x", "text/html"), known.get)
    browser.send({"id": 1, "result": {}})
    network.attach(browser.connection, "s")
    assert browser.receive()["method"] == "Fetch.enable"
    return network


def answers(browser: Browser, *requests: dict[str, Any]) -> list[tuple[str, Any]]:
    ends: list[Any] = []
    browser.connection.listen("T.end", None, ends.append)
    browser.send(*requests, {"method": "T.end", "params": {}})
    assert browser.connection.pump_until(lambda: bool(ends), within_s=TIMEOUT_S)
    heard = [browser.receive() for _ in requests]
    return [
        (each["method"], each["params"].get("body") or each["params"].get("errorReason"))
        for each in heard
    ]


def test_a_page_gets_its_document_once_and_known_resources(
    browser: Browser, network: PageNetwork
) -> None:
    document = request(1, PAGE_URL, "Document")
    found = answers(
        browser,
        document,
        request(2, "https://a.example/x.png"),
        request(3, "https://a.example/x.png", "Document"),
        request(4, "https://b.example/"),
        document,
        request(5, PAGE_URL + "favicon.ico"),
    )
    refused = ("Fetch.failRequest", "BlockedByClient")
    assert found == [
        ("Fetch.fulfillRequest", "PHA+eA=="),
        ("Fetch.fulfillRequest", "cG5n"),
        refused,
        refused,
        refused,
        refused,
    ]
    assert network.refused == ["https://a.example/x.png", "https://b.example/", PAGE_URL]


def test_the_list_of_refused_requests_is_limited(browser: Browser, network: PageNetwork) -> None:
    answers(browser, *(request(n, f"https://b.example/{n // 2}") for n in range(300)))
    answers(browser, request(1, "data:" + "x" * 5000))
    assert network.refused[:2] == ["https://b.example/0", "https://b.example/1"]
    assert len(network.refused) == 100


def test_time_spent_answering_the_browser_does_not_count(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, a page whose source took long to fetch was said to be in a loop without end."""
    hours_s = [0.0]
    monkeypatch.setattr("framekiln.capture.cdp.time.monotonic", lambda: hours_s[0])

    def fetch(_params: dict[str, Any]) -> None:
        hours_s[0] += 3600
        browser.send({"id": asked, "result": {"n": 1}})

    browser.connection.listen("Fetch.requestPaused", None, fetch)
    asked = browser.connection.post("A.a", session=None)
    browser.send({"method": "Fetch.requestPaused", "params": {}})
    assert browser.connection.wait(asked, "A.a", within_s=TIMEOUT_S) == {"n": 1}
    assert browser.connection.now_s == 0


@pytest.mark.parametrize("end", [b"", b'"}\0'])
def test_a_message_that_is_too_long_is_not_read(browser: Browser, end: bytes) -> None:
    browser.connection.max_message_bytes = 1 << 12
    browser.writes(b'{"method":"' + b"x" * (1 << 13) + end)
    with pytest.raises(PageOverLimit, match="sent more than"):
        browser.connection.call("A.a", session=None, within_s=TIMEOUT_S)
