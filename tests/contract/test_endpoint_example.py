"""The endpoint of the guide, as a process: it looks at real pictures and calls back boxes."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image, ImageDraw

from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.outputs.validation import check_output
from framekiln.webhooks.signatures import new_secret, standard_headers
from tests.support.receiver import Answer, ReceivedRequest, Receiver
from tests.support.timeouts import TIMEOUT_S

pytestmark = pytest.mark.spec("4.7")

EXAMPLE = Path(__file__).parents[2] / "docs" / "howto" / "examples" / "endpoint.py"
SECRET = new_secret()
SIZE = (320, 240)
# Where the red thing is; 1000 and 3500 have none. A small one elsewhere must not matter.
REDS = {0: (40, 60, 99, 119), 500: (60, 60, 119, 119), 1500: (200, 20, 300, 99)}
TIMES_MS = (0, 500, 1000, 1500)


@pytest.fixture(scope="module")
def example() -> Iterator[str]:
    command = [sys.executable, str(EXAMPLE), "--secret", SECRET, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("listening on port"), said
        yield f"http://127.0.0.1:{said.split()[-1]}/"
        process.kill()


def picture(red: tuple[int, int, int, int] | None) -> bytes:
    image = Image.linear_gradient("L").resize(SIZE).convert("RGB")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 225, 20, 239), fill=(30, 60, 200))
    if red is not None:
        draw.rectangle((310, 230, 319, 239), fill=(220, 30, 30))
        draw.rectangle(red, fill=(220, 30, 30))
    written = io.BytesIO()
    image.save(written, "JPEG", quality=90)
    return written.getvalue()


def order(ours: Receiver, key: str) -> bytes:
    frames = [{"t_ms": t, "url": ours.url(f"/frames/{t}.jpg?media_token=x")} for t in TIMES_MS]
    body = {
        "idempotency_key": key,
        "window": None,
        "file": {"duration_ms": 2000},
        "media": {"frames": frames},
        "callback": {"url": ours.url("/callback")},
    }
    return json.dumps(body).encode()


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return standard_headers(body.decode(), message_id="a_1", now=datetime.now(UTC), keys=[secret])


def post(url: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
    return httpx.post(url, content=body, headers=headers, timeout=TIMEOUT_S)


def serve(request: ReceivedRequest) -> Answer:
    if request.method == "POST":
        return Answer(200, b"{}")
    t_ms = int(request.path.split("/")[-1].split(".")[0])
    return Answer(200, picture(REDS.get(t_ms)), {"Content-Type": "image/jpeg"})


def called_back(ours: Receiver, count: int) -> list[Any]:
    ours.wait_for(count)
    return [json.loads(each.body) for each in ours.requests if each.method == "POST"]


def test_the_example_finds_the_red_object_and_calls_back_once(example: str) -> None:
    with Receiver() as ours:
        ours.answer_by(serve)
        body = order(ours, "once")
        for _ in range(2):
            assert post(example, body, signed(body)).status_code == 202
        [callback] = called_back(ours, len(TIMES_MS) + 1)
        # When another order is done, a second time of the first one would have shown.
        later = order(ours, "later")
        assert post(example, later, signed(later)).status_code == 202
        assert len(called_back(ours, 2 * (len(TIMES_MS) + 1))) == 2
        assert len(ours.requests) == 2 * (len(TIMES_MS) + 1)
    assert callback["status"] == "succeeded"
    output = check_output(callback["output"])
    assert isinstance(output, StepOutput)
    assert output.metadata == {"frame_count": 4, "seen_count": 3}
    spans = [(each.start_ms, each.end_ms) for each in output.annotations]
    assert spans == [(0, 1000), (1500, 2000)]
    boxes = {box.t_ms: box for each in output.annotations for box in each.keyframes or ()}
    assert boxes.keys() == REDS.keys()
    for t_ms, (left, top, right, bottom) in REDS.items():
        box = boxes[t_ms]
        found = (box.x * 320, box.y * 240, (box.x + box.w) * 320, (box.y + box.h) * 240)
        # JPEG smears colours over 16 pixels at most.
        assert found == pytest.approx((left, top, right + 1, bottom + 1), abs=8)


def test_the_example_refuses_unsigned_requests(example: str) -> None:
    with Receiver() as ours:
        body = order(ours, "forged")
        for headers in ({}, signed(body, new_secret()), signed(body + b" ")):
            assert post(example, body, headers).status_code == 401
        assert ours.requests == []


def test_the_example_reports_failures(example: str) -> None:
    with Receiver() as ours:
        ours.answer_by(lambda each: Answer(200 if each.method == "POST" else 404))
        body = order(ours, "missing")
        post(example, body, signed(body))
        [callback] = called_back(ours, 2)
    assert callback["status"] == "failed"
    assert callback["error"]["retryable"] is True
    assert "404" in callback["error"]["message"]
