"""The receiver records requests and sends prepared responses."""

import asyncio
import json

import httpx
import pytest

from tests.support.receiver import NO_ANSWER, Answer, ReceivedRequest, Receiver
from tests.support.timeouts import TIMEOUT_S


def test_requests_are_recorded_whole(receiver: Receiver) -> None:
    response = httpx.post(
        receiver.url("/hook?x=1"), timeout=TIMEOUT_S, content=b"\x00body", headers={"X-Kind": "a"}
    )
    (request,) = receiver.requests
    assert response.status_code == 200
    assert (request.method, request.path, request.body) == ("POST", "/hook?x=1", b"\x00body")
    assert request.headers["x-kind"] == "a"


def test_chunked_bodies_are_put_together(receiver: Receiver) -> None:
    httpx.put(receiver.url(), timeout=TIMEOUT_S, content=iter([b"one ", b"two ", b"three"]))
    assert receiver.requests[0].body == b"one two three"


def test_queued_answers_come_before_the_default_one(receiver: Receiver) -> None:
    receiver.answer(Answer(status=204))
    receiver.answer_next(Answer(status=503, headers={"Retry-After": "1"}), Answer(status=410))
    responses = [httpx.get(receiver.url(), timeout=TIMEOUT_S) for _ in range(4)]
    assert [response.status_code for response in responses] == [503, 410, 204, 204]
    assert responses[0].headers["retry-after"] == "1"


def test_a_function_chooses_the_response(receiver: Receiver) -> None:
    def respond(request: ReceivedRequest) -> Answer:
        return Answer(status=202 if json.loads(request.body)["later"] else 200, body=b"{}")

    receiver.answer_by(respond)
    assert httpx.post(receiver.url(), timeout=TIMEOUT_S, json={"later": True}).status_code == 202
    assert httpx.post(receiver.url(), timeout=TIMEOUT_S, json={"later": False}).content == b"{}"


def test_a_dropped_connection_gives_no_answer(receiver: Receiver) -> None:
    receiver.answer(Answer(drop=True))
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(receiver.url(), timeout=TIMEOUT_S, content=b"x")
    assert len(receiver.requests) == 1


def test_a_delay_outlasts_the_callers_patience_and_ends_with_the_receiver() -> None:
    with Receiver() as slow:
        slow.answer(NO_ANSWER)
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(slow.url(), timeout=httpx.Timeout(TIMEOUT_S, read=0.2))
        assert len(slow.wait_for(1)) == 1


async def test_async_tests_wait_for_requests(receiver: Receiver) -> None:
    async with httpx.AsyncClient(timeout=TIMEOUT_S) as client:
        waiting = asyncio.create_task(asyncio.to_thread(receiver.wait_for, 2))
        await asyncio.gather(client.get(receiver.url("/a")), client.get(receiver.url("/b")))
        assert {request.path for request in await waiting} == {"/a", "/b"}


def test_a_timeout_reports_the_number_of_requests(receiver: Receiver) -> None:
    httpx.get(receiver.url(), timeout=TIMEOUT_S)
    with pytest.raises(TimeoutError, match="1 of 2 requests"):
        receiver.wait_for(2, timeout_s=0.05)


def test_head_has_no_body(receiver: Receiver) -> None:
    receiver.answer(Answer(body=b"12345"))
    response = httpx.head(receiver.url(), timeout=TIMEOUT_S)
    assert response.headers["content-length"] == "5"
    assert response.content == b""
