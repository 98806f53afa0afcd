"""Callbacks of endpoints: results, failures, signs of life, in time, too early and too late."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.endpoint_harness import (
    DONE,
    OUTPUT,
    EndpointHarness,
    TlsReceiver,
    kill_during_request,
    request_json,
    start_accepted_run,
)
from tests.support.receiver import Answer, ReceivedRequest

pytestmark = pytest.mark.spec("4.7")


@pytest.fixture(autouse=True)
async def _empty_queue(endpoints: EndpointHarness) -> None:
    await endpoints.clear()


async def test_accepted_work_is_waited_for(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver, callback_timeout_ms=60_000)
    ask = await endpoints.get_step(run)
    assert ask["status"] == "waiting_external"
    in_a_minute = endpoints.pipelines.clock.now() + timedelta(minutes=1)
    assert datetime.fromisoformat(ask["deadline_at"]) == in_a_minute
    answer = await endpoints.call_back(url, {"status": "succeeded", "output": OUTPUT})
    assert (answer.status_code, answer.json()) == (200, {"deadline_at": None})
    assert await endpoints.get_output(run) == OUTPUT
    assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"
    again = await endpoints.call_back(url, {"status": "succeeded", "output": OUTPUT})
    assert (again.status_code, again.json()["error"]) == (409, "step_not_waiting")


async def test_a_callback_before_the_response_counts(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    early: list[int] = []

    def answer(request: ReceivedRequest) -> Answer:
        url = request_json(request)["callback"]["url"]
        for body in (
            {"status": "heartbeat"},
            {"status": "succeeded", "output": OUTPUT},
            {"status": "failed", "error": {"message": "too late"}},
        ):
            early.append(endpoints.call_back_from_thread(url, body).status_code)
        return Answer(202)

    endpoint_receiver.answer_by(answer)
    run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
    await endpoints.send_due()
    assert early == [200, 200, 409]
    assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"
    assert await endpoints.get_output(run) == OUTPUT


async def test_a_callback_before_the_retry_of_a_dead_worker_counts(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
    [job] = await endpoints.take_jobs()
    await kill_during_request(endpoints, endpoint_receiver, job)
    url = request_json(endpoint_receiver.requests[0])["callback"]["url"]
    body = {"status": "succeeded", "output": OUTPUT}
    assert (await endpoints.call_back(url, body)).status_code == 200
    await endpoints.run_job(job)
    assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"
    assert len(endpoint_receiver.requests) == 1


async def test_a_heartbeat_extends_the_deadline(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver, callback_timeout_ms=60_000)
    clock = endpoints.pipelines.clock
    for _ in range(3):
        clock.advance(timedelta(seconds=50))
        await endpoints.pipelines.tick()
        answer = await endpoints.call_back(url, {"status": "heartbeat"})
        deadline = datetime.fromisoformat(answer.json()["deadline_at"])
        assert deadline == clock.now() + timedelta(minutes=1)
    assert (await endpoints.get_step(run))["status"] == "waiting_external"


async def test_deadlines_are_written_like_all_other_times(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    """They ended in `Z`, all others in `+00:00`."""
    run, url = await start_accepted_run(endpoints, endpoint_receiver, callback_timeout_ms=60_000)
    answer = await endpoints.call_back(url, {"status": "heartbeat"})
    ask = await endpoints.get_step(run)
    assert ask["deadline_at"] == answer.json()["deadline_at"]
    times = [ask["deadline_at"], ask["started_at"], run["created_at"]]
    assert [each[-6:] for each in times] == ["+00:00"] * 3


async def test_a_heartbeat_before_the_response_extends_the_deadline(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    def answer(request: ReceivedRequest) -> Answer:
        endpoints.pipelines.clock.advance(timedelta(seconds=50))
        url = request_json(request)["callback"]["url"]
        assert endpoints.call_back_from_thread(url, {"status": "heartbeat"}).status_code == 200
        return Answer(202)

    endpoint_receiver.answer_by(answer)
    run = await endpoints.start_run(
        await endpoints.create_endpoint(endpoint_receiver.url(), callback_timeout_ms=60_000)
    )
    await endpoints.send_due()
    endpoints.pipelines.clock.advance(timedelta(seconds=59))
    await endpoints.pipelines.tick()
    assert (await endpoints.get_step(run))["status"] == "waiting_external"


async def test_a_missing_callback_times_out(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, first = await start_accepted_run(endpoints, endpoint_receiver, callback_timeout_ms=60_000)
    endpoints.pipelines.clock.advance(timedelta(seconds=59))
    await endpoints.pipelines.tick()
    assert (await endpoints.get_step(run))["status"] == "waiting_external"
    endpoints.pipelines.clock.advance(timedelta(seconds=1))
    await endpoints.pipelines.tick()
    ask = await endpoints.get_step(run)
    assert (ask["status"], ask["error"]["code"]) == ("ready", "callback_timed_out")
    late = await endpoints.call_back(first, {"status": "succeeded"})
    assert (late.status_code, late.json()["error"]) == (409, "step_not_waiting")
    endpoint_receiver.answer(Answer(202))
    endpoints.pipelines.clock.advance(timedelta(seconds=10))
    await endpoints.pipelines.tick()
    assert await endpoints.send_due() == 1
    assert request_json(endpoint_receiver.requests[-1])["attempt"] == 2
    assert request_json(endpoint_receiver.requests[-1])["callback"]["url"] != first


@pytest.mark.parametrize(
    ("more", "code"), [({"code": "no_gpu", "retryable": True}, "no_gpu"), ({}, "endpoint_failed")]
)
async def test_a_failed_callback_is_retried_only_if_retryable(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, more: dict[str, Any], code: str
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    error, is_retryable = {"message": "no GPU", **more}, bool(more)
    answer = await endpoints.call_back(url, {"status": "failed", "error": error})
    assert answer.status_code == 200
    ask = await endpoints.get_step(run)
    assert ask["status"] == ("ready" if is_retryable else "failed")
    assert (ask["error"]["code"], ask["error"]["message"]) == (code, "no GPU")
    if is_retryable:
        endpoints.pipelines.clock.advance(timedelta(seconds=10))
        await endpoints.pipelines.tick()
        endpoint_receiver.answer(DONE)
        assert await endpoints.send_due() == 1
        assert (await endpoints.get_step(run))["attempt"] == 2
        assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"


async def test_an_output_that_is_wrong_fails_the_step(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    body = {"status": "succeeded", "output": {"metadata": 3}}
    answer = await endpoints.call_back(url, body)
    assert answer.status_code == 422
    assert answer.json()["issues"] == [{"path": "output.metadata", "code": "type"}]
    ask = await endpoints.get_step(run)
    assert (ask["status"], ask["error"]["code"]) == ("failed", "invalid_output")


async def test_an_output_that_is_too_large_fails_the_step(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    text = "x" * (5 << 20)
    body = {"status": "succeeded", "output": {"metadata": {"a": text}}}
    assert (await endpoints.call_back(url, body)).status_code == 413
    assert (await endpoints.get_step(run))["error"]["code"] == "invalid_output"


@pytest.mark.parametrize("levels", [33, 70, 100_000])
async def test_an_output_that_is_nested_too_deep_fails_the_step(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, levels: int
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    nested = "[" * levels + "]" * levels
    body = f'{{"status": "succeeded", "output": {{"metadata": {{"a": {nested}}}}}}}'
    answer = await endpoints.anonymous.post(url, content=body)
    assert answer.status_code == 422
    assert [each["code"] for each in answer.json()["issues"]] == ["too_deep"]
    ask = await endpoints.get_step(run)
    assert (ask["status"], ask["error"]["code"]) == ("failed", "invalid_output")


@pytest.mark.parametrize("value", ["NaN", r'"\u0000"', r'"\ud800"', "1e999"])
async def test_an_output_that_cannot_be_stored_fails_the_step(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, value: str
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    body = f'{{"status": "succeeded", "output": {{"metadata": {{"a": {value}}}}}}}'
    answer = await endpoints.anonymous.post(url, content=body)
    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["issues"]] == ["output.metadata.a"]
    assert (await endpoints.get_step(run))["error"]["code"] == "invalid_output"


async def test_unknown_fields_do_not_fail_the_run(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    found = {"kind": "face", "start_ms": 0, "end_ms": 9, "keyframes": [], "age": {"years": 7}}
    output = {"annotations": [found], "model": "faces-2"}
    answer = await endpoints.call_back(url, {"status": "succeeded", "output": output})
    assert answer.status_code == 200, answer.text
    del found["keyframes"]
    assert await endpoints.get_output(run) == {"metadata": {}, "annotations": [found]}
    assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"


async def test_an_invalid_callback_changes_nothing(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    answer = await endpoints.call_back(url, {"status": "failed", "error": {"message": ""}})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert (await endpoints.anonymous.post(url, content=b"{")).status_code == 400
    assert (await endpoints.get_step(run))["status"] == "waiting_external"
    cut_short = await endpoints.call_back(url[:-1], {"status": "heartbeat"})
    assert (cut_short.status_code, cut_short.json()["error"]) == (404, "callback_not_found")
    assert "callback.url" in cut_short.json()["remedy"]


async def test_the_body_of_an_unknown_callback_is_not_read(endpoints: EndpointHarness) -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    answer = await endpoints.anonymous.post(
        "http://kiln.test/api/v1/pipeline-callbacks/unknown", content=body()
    )
    assert (answer.status_code, answer.json()["error"]) == (404, "callback_not_found")
    assert not read


async def test_an_output_of_too_many_values_fails_the_step(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    body = b'{"status": "succeeded", "output": [' + b"{}," * 200_000 + b"{}]}"
    answer = await endpoints.anonymous.post(url, content=body)
    assert (answer.status_code, answer.json()["limit_values"]) == (413, 200_000)
    error = (await endpoints.get_step(run))["error"]
    assert error["code"] == "invalid_output"
    assert error["message"] == "the callback contains more than 200000 values"


async def test_a_callback_to_a_cancelled_run_is_refused(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    await endpoints.pipelines.create(f"pipeline-runs/{run['id']}/cancel")
    answer = await endpoints.call_back(url, {"status": "heartbeat"})
    assert (answer.status_code, answer.json()["error"]) == (409, "step_not_waiting")


async def test_only_a_hash_of_the_address_is_stored(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    secret = url.rsplit("/", 1)[-1]
    assert len(secret) == 43
    [row] = await endpoints.pipelines.run_sql(
        "SELECT a::text AS whole FROM pipeline_attempt a WHERE run_id = %s", run["id"]
    )
    assert secret not in row["whole"]
