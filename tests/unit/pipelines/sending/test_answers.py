"""What the answers of endpoints mean."""

from datetime import UTC, datetime

import pytest

from framekiln.kit.fetch import FetchedResponse, FetchFailed
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.pipelines.definitions.windows import Window
from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.sending.answers import judge_answer, judge_error, retry_after_s
from framekiln.pipelines.sending.verdict import (
    MAX_ANSWER_BYTES,
    Accepted,
    Failed,
    OutputRules,
    Succeeded,
    Verdict,
    from_json,
    to_json,
)

pytestmark = pytest.mark.spec("4.7")

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ANY = OutputRules(None, None)


def judge(status: int, content: bytes = b"", rules: OutputRules = ANY, **headers: str) -> Verdict:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return judge_answer(FetchedResponse(status, named, content), rules, now=NOW)


def code_of(verdict: Verdict) -> str:
    assert isinstance(verdict, Failed)
    return verdict.failure.code


@pytest.mark.parametrize("status", [200, 201, 203, 204, 299])
def test_nothing_in_a_good_answer_is_an_empty_output(status: int) -> None:
    assert judge(status, b" \r\n") == Succeeded(Output())


def test_an_output() -> None:
    assert judge(200, b'{"metadata": {"n": 1}}') == Succeeded(Output({"n": 1}))


def test_accepted_whatever_the_body_says() -> None:
    assert judge(202, b"<html>") == Accepted()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 599])
def test_worth_another_attempt(status: int) -> None:
    verdict = judge(status, retry_after="7")
    assert code_of(verdict) == "endpoint_unavailable"
    assert isinstance(verdict, Failed)
    assert (verdict.is_retryable, verdict.retry_after_s) == (True, 7)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 304, 400, 401, 403, 404, 410, 422, 425])
def test_refused_for_good(status: int) -> None:
    verdict = judge(status, retry_after="7", location="https://elsewhere.example/")
    assert code_of(verdict) == "endpoint_refused"
    assert isinstance(verdict, Failed)
    assert not verdict.is_retryable


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff",
        b"[]",
        b"null",
        b'{"metadata": NaN}',
        b'{"surprise": 1}',
        b"[" * 200_000,
        b" " * (MAX_ANSWER_BYTES + 1),
        b'{"metadata": {"a": "%s"}}' % (b"x" * 1024 * 1024),
        b'{"annotations": [{"kind": "face", "start_ms": 5, "end_ms": 1}]}',
    ],
)
def test_what_is_no_output(content: bytes) -> None:
    verdict = judge(200, content)
    assert code_of(verdict) == "invalid_output"
    assert isinstance(verdict, Failed)
    assert not verdict.is_retryable


def test_compressed_answers_are_refused() -> None:
    assert code_of(judge(200, b"\x1f\x8b", content_encoding="gzip")) == "endpoint_refused"


def test_annotations_lie_inside_the_window_and_on_tracks_of_the_file() -> None:
    rules = OutputRules(Window(1, 1000, 2000, 500), [1])
    note = b'{"annotations": [{"kind": "face", "start_ms": %d, "end_ms": 1500, "track_id": %d}]}'
    assert isinstance(judge(200, note % (1000, 1), rules), Succeeded)
    assert code_of(judge(200, note % (999, 1), rules)) == "invalid_output"
    assert code_of(judge(200, note % (1000, 2), rules)) == "invalid_output"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("0", 0),
        ("120", 120),
        ("3600", 3600),
        ("3601", 3600),
        ("9" * 400, 3600),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("\N{ARABIC-INDIC DIGIT FIVE}", 0),
        ("Tue, 01 Jan 2030 00:02:00 GMT", 120),
        ("Tue, 01 Jan 2030 02:00:00 GMT", 3600),
        ("Mon, 31 Dec 2029 23:00:00 GMT", 0),
        ("Tue, 01 Jan 2030 00:02:00 -0000", 120),
    ],
)
def test_retry_after(text: str, seconds: int) -> None:
    assert retry_after_s({"retry-after": text}, now=NOW) == seconds


def test_no_answer() -> None:
    lost = judge_error(FetchFailed("x: the connection failed", host="x"))
    assert (lost.failure.code, lost.is_retryable) == ("endpoint_unavailable", True)
    refused = judge_error(FetchRefused("x: private", rule="address", host="x"))
    assert (refused.failure.code, refused.is_retryable) == ("endpoint_refused", False)


def test_verdicts_are_kept_as_they_are() -> None:
    note = b'{"annotations": [{"kind": "face", "start_ms": 0.5, "end_ms": 1, "label": "a"}]}'
    for verdict in (judge(200, note), judge(500), judge(404)):
        assert isinstance(verdict, Succeeded | Failed)
        assert from_json(to_json(verdict)) == verdict
