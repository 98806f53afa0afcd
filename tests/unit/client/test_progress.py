"""Progress streams are followed to their last word, however often they break."""

import httpx
import pytest

from framekiln.client import Client
from framekiln.client.errors import EndedBadly, ServiceRefused
from tests.support.timeouts import TIMEOUT_S

RENDER = {"id": "r", "status": "complete"}
HALF = b'event: progress\ndata: {"progress": 0.5}\n\n'
HEARTBEAT = b'event: heartbeat\ndata: {"status": "processing"}\n\n'
COMPLETE = b'event: progress\ndata: {"progress":1.0}\n\nevent: complete\ndata: {}\n\n'


def followed(*answers: httpx.Response) -> list[float]:
    waiting = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        is_stream = request.url.path.endswith("/progress")
        return waiting.pop(0) if is_stream else httpx.Response(200, json=RENDER)

    client = Client(
        "http://service",
        "k",
        retry_within_s=TIMEOUT_S,
        transport=httpx.MockTransport(answer),
        sleep=lambda _: None,
    )
    fractions: list[float] = []
    client.renders.wait("r", fractions.append)
    assert waiting == []
    return fractions


def test_progress_is_followed_to_completion() -> None:
    assert followed(httpx.Response(200, content=HALF + HEARTBEAT + COMPLETE)) == [0.5, 1.0]


def test_a_progress_stream_that_ends_early_is_reopened() -> None:
    answers = [
        httpx.Response(200, content=HALF),
        httpx.Response(503),
        httpx.Response(200, content=HALF + COMPLETE),
    ]
    assert followed(*answers) == [0.5, 0.5, 1.0]


def test_the_error_of_a_failed_render_has_its_code() -> None:
    content = HALF + b"event: error\ndata: wrong_content: the content is text/plain\n\n"
    with pytest.raises(EndedBadly, match="text/plain") as caught:
        followed(httpx.Response(200, content=content))
    assert caught.value.details == {"error": "wrong_content"}


def test_a_refused_progress_stream_says_why() -> None:
    answer = httpx.Response(
        404,
        content=b"event: error\ndata: there is no render 'r'\n\n",
        headers={"Content-Type": "text/event-stream; charset=utf-8"},
    )
    with pytest.raises(ServiceRefused) as caught:
        followed(answer)
    assert caught.value.message == "there is no render 'r' (404)"
