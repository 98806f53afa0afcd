"""What the answers of endpoints mean."""

from datetime import UTC, datetime

import pytest

from framekiln.kit.fetch import FetchedResponse, FetchFailed
from framekiln.kit.guarded_transport import FetchRefused
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.endpoints.attempt_result import (
    MAX_RESPONSE_BYTES,
    AttemptAccepted,
    AttemptFailed,
    AttemptResult,
    AttemptSucceeded,
    result_from_json,
    result_of_error,
    result_of_response,
    result_to_json,
    retry_after_s,
)
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.outputs.validation import OutputRules

pytestmark = pytest.mark.spec("4.7")

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ANY = OutputRules()


def result_of(
    status: int, content: bytes = b"", rules: OutputRules = ANY, **headers: str
) -> AttemptResult:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return result_of_response(FetchedResponse(status, named, content), rules, now=NOW)


def code_of(verdict: AttemptResult) -> str:
    assert isinstance(verdict, AttemptFailed)
    return verdict.failure.code


@pytest.mark.parametrize("status", [200, 201, 203, 204, 299])
def test_an_empty_successful_response_is_an_empty_output(status: int) -> None:
    assert result_of(status, b" \r\n") == AttemptSucceeded(StepOutput())


def test_a_successful_response_is_an_output() -> None:
    assert result_of(200, b'{"metadata": {"n": 1}}') == AttemptSucceeded(StepOutput({"n": 1}))


def test_202_is_accepted_with_any_body() -> None:
    assert result_of(202, b"<html>") == AttemptAccepted()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 599])
def test_retryable_statuses(status: int) -> None:
    verdict = result_of(status, retry_after="7")
    assert code_of(verdict) == "endpoint_unavailable"
    assert isinstance(verdict, AttemptFailed)
    assert (verdict.is_retryable, verdict.retry_after_s) == (True, 7)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 304, 400, 401, 403, 404, 410, 422, 425])
def test_permanent_statuses_are_not_retryable(status: int) -> None:
    verdict = result_of(status, retry_after="7", location="https://elsewhere.example/")
    assert code_of(verdict) == "endpoint_refused"
    assert isinstance(verdict, AttemptFailed)
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
        b" " * (MAX_RESPONSE_BYTES + 1),
        b'{"metadata": {"a": "%s"}}' % (b"x" * 1024 * 1024),
        b'{"annotations": [{"kind": "face", "start_ms": 5, "end_ms": 1}]}',
    ],
)
def test_an_invalid_output_fails_the_attempt(content: bytes) -> None:
    verdict = result_of(200, content)
    assert code_of(verdict) == "invalid_output"
    assert isinstance(verdict, AttemptFailed)
    assert not verdict.is_retryable


def test_compressed_responses_are_refused() -> None:
    assert code_of(result_of(200, b"\x1f\x8b", content_encoding="gzip")) == "endpoint_refused"


def test_annotations_lie_inside_the_window_and_on_tracks_of_the_file() -> None:
    rules = OutputRules(Window(1, 1000, 2000, 500), [1])
    note = b'{"annotations": [{"kind": "face", "start_ms": %d, "end_ms": 1500, "track_id": %d}]}'
    assert isinstance(result_of(200, note % (1000, 1), rules), AttemptSucceeded)
    assert code_of(result_of(200, note % (999, 1), rules)) == "invalid_output"
    assert code_of(result_of(200, note % (1000, 2), rules)) == "invalid_output"


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
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", 0),
        ("\N{ARABIC-INDIC DIGIT FIVE}", 0),
        ("Tue, 01 Jan 2030 00:02:00 GMT", 120),
        ("Tue, 01 Jan 2030 02:00:00 GMT", 3600),
        ("Mon, 31 Dec 2029 23:00:00 GMT", 0),
        ("Tue, 01 Jan 2030 00:02:00 -0000", 120),
    ],
)
def test_retry_after_is_parsed_and_limited(text: str, seconds: int) -> None:
    assert retry_after_s({"retry-after": text}, now=NOW) == seconds


def test_connection_errors_are_retryable_and_refusals_are_not() -> None:
    lost = result_of_error(FetchFailed("x: the connection failed", host="x"))
    assert (lost.failure.code, lost.is_retryable) == ("endpoint_unavailable", True)
    refused = result_of_error(FetchRefused("x: private", rule="address", host="x"))
    assert (refused.failure.code, refused.is_retryable) == ("endpoint_refused", False)


def test_results_survive_a_json_round_trip() -> None:
    note = b'{"annotations": [{"kind": "face", "start_ms": 0.5, "end_ms": 1, "label": "a"}]}'
    for verdict in (result_of(200, note), result_of(500), result_of(404)):
        assert isinstance(verdict, AttemptSucceeded | AttemptFailed)
        assert result_from_json(result_to_json(verdict)) == verdict
