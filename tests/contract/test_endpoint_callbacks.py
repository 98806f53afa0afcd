"""Callbacks of endpoints: results, failures, signs of life, in time, too early and too late."""

from datetime import datetime, timedelta

import pytest

from tests.support.endpoint_desk import (
    DONE,
    OUTPUT,
    Desk,
    TlsReceiver,
    accepted,
    killed_while_it_waits,
    sent,
)
from tests.support.receiver import Answer, ReceivedRequest

pytestmark = pytest.mark.spec("4.7")


@pytest.fixture(autouse=True)
async def _nothing_left(desk: Desk) -> None:
    await desk.clear()


async def test_accepted_work_is_waited_for(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs, callback_timeout_ms=60_000)
    ask = await desk.ask(run)
    assert ask["status"] == "waiting_external"
    in_a_minute = desk.line.clock.now() + timedelta(minutes=1)
    assert datetime.fromisoformat(ask["deadline_at"]) == in_a_minute
    answer = await desk.call_back(url, {"status": "succeeded", "output": OUTPUT})
    assert (answer.status_code, answer.json()) == (200, {"deadline_at": None})
    assert await desk.output(run) == OUTPUT
    assert (await desk.line.shown(run))["status"] == "succeeded"
    again = await desk.call_back(url, {"status": "succeeded", "output": OUTPUT})
    assert (again.status_code, again.json()["error"]) == (409, "step_not_waiting")


async def test_quicker_than_the_answer(desk: Desk, theirs: TlsReceiver) -> None:
    early: list[int] = []

    def answer(request: ReceivedRequest) -> Answer:
        url = sent(request)["callback"]["url"]
        for body in (
            {"status": "heartbeat"},
            {"status": "succeeded", "output": OUTPUT},
            {"status": "failed", "error": {"message": "too late"}},
        ):
            early.append(desk.call_back_from_thread(url, body).status_code)
        return Answer(202)

    theirs.answer_by(answer)
    run = await desk.run(await desk.endpoint(theirs.url()))
    await desk.send()
    assert early == [200, 200, 409]
    assert (await desk.line.shown(run))["status"] == "succeeded"
    assert await desk.output(run) == OUTPUT


async def test_quicker_than_a_worker_that_died(desk: Desk, theirs: TlsReceiver) -> None:
    run = await desk.run(await desk.endpoint(theirs.url()))
    [job] = await desk.jobs()
    await killed_while_it_waits(desk, theirs, job)
    url = sent(theirs.requests[0])["callback"]["url"]
    body = {"status": "succeeded", "output": OUTPUT}
    assert (await desk.call_back(url, body)).status_code == 200
    await desk.do(job)
    assert (await desk.line.shown(run))["status"] == "succeeded"
    assert len(theirs.requests) == 1


async def test_a_heartbeat_gives_more_time(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs, callback_timeout_ms=60_000)
    clock = desk.line.clock
    for _ in range(3):
        clock.advance(timedelta(seconds=50))
        await desk.line.tick()
        answer = await desk.call_back(url, {"status": "heartbeat"})
        told = datetime.fromisoformat(answer.json()["deadline_at"])
        assert told == clock.now() + timedelta(minutes=1)
    ask = await desk.ask(run)
    assert ask["status"] == "waiting_external"
    # Written in the same way, too.
    assert ask["deadline_at"] == answer.json()["deadline_at"]


async def test_an_early_heartbeat_gives_more_time(desk: Desk, theirs: TlsReceiver) -> None:
    def answer(request: ReceivedRequest) -> Answer:
        desk.line.clock.advance(timedelta(seconds=50))
        url = sent(request)["callback"]["url"]
        assert desk.call_back_from_thread(url, {"status": "heartbeat"}).status_code == 200
        return Answer(202)

    theirs.answer_by(answer)
    run = await desk.run(await desk.endpoint(theirs.url(), callback_timeout_ms=60_000))
    await desk.send()
    desk.line.clock.advance(timedelta(seconds=59))
    await desk.line.tick()
    assert (await desk.ask(run))["status"] == "waiting_external"


async def test_no_callback_in_time(desk: Desk, theirs: TlsReceiver) -> None:
    run, first = await accepted(desk, theirs, callback_timeout_ms=60_000)
    desk.line.clock.advance(timedelta(seconds=59))
    await desk.line.tick()
    assert (await desk.ask(run))["status"] == "waiting_external"
    desk.line.clock.advance(timedelta(seconds=1))
    await desk.line.tick()
    ask = await desk.ask(run)
    assert (ask["status"], ask["error"]["code"]) == ("ready", "callback_timed_out")
    late = await desk.call_back(first, {"status": "succeeded"})
    assert (late.status_code, late.json()["error"]) == (409, "step_not_waiting")
    theirs.answer(Answer(202))
    desk.line.clock.advance(timedelta(seconds=10))
    await desk.line.tick()
    assert await desk.send() == 1
    assert sent(theirs.requests[-1])["attempt"] == 2
    assert sent(theirs.requests[-1])["callback"]["url"] != first


@pytest.mark.parametrize("is_retryable", [True, False])
async def test_a_failure(desk: Desk, theirs: TlsReceiver, is_retryable: bool) -> None:
    run, url = await accepted(desk, theirs)
    error = {"message": "no GPU", "code": "no_gpu", "retryable": is_retryable}
    answer = await desk.call_back(url, {"status": "failed", "error": error})
    assert answer.status_code == 200
    ask = await desk.ask(run)
    assert ask["status"] == ("ready" if is_retryable else "failed")
    assert (ask["error"]["code"], ask["error"]["message"]) == ("no_gpu", "no GPU")
    if is_retryable:
        desk.line.clock.advance(timedelta(seconds=10))
        await desk.line.tick()
        theirs.answer(DONE)
        assert await desk.send() == 1
        assert (await desk.ask(run))["attempt"] == 2
        assert (await desk.line.shown(run))["status"] == "succeeded"


async def test_an_output_that_is_wrong_fails_the_step(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs)
    body = {"status": "succeeded", "output": {"metadata": 3}}
    answer = await desk.call_back(url, body)
    assert answer.status_code == 422
    assert answer.json()["issues"] == [{"path": "output.metadata", "code": "type"}]
    ask = await desk.ask(run)
    assert (ask["status"], ask["error"]["code"]) == ("failed", "invalid_output")


async def test_an_output_that_is_too_large_fails_the_step(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs)
    text = "x" * (5 << 20)
    body = {"status": "succeeded", "output": {"metadata": {"a": text}}}
    assert (await desk.call_back(url, body)).status_code == 413
    assert (await desk.ask(run))["error"]["code"] == "invalid_output"


@pytest.mark.parametrize("levels", [33, 70, 100_000])
async def test_an_output_that_is_nested_too_deep_fails_the_step(
    desk: Desk, theirs: TlsReceiver, levels: int
) -> None:
    run, url = await accepted(desk, theirs)
    nested = "[" * levels + "]" * levels
    body = f'{{"status": "succeeded", "output": {{"metadata": {{"a": {nested}}}}}}}'
    answer = await desk.stranger.post(url, content=body)
    assert answer.status_code == 422
    assert [each["code"] for each in answer.json()["issues"]] == ["too_deep"]
    ask = await desk.ask(run)
    assert (ask["status"], ask["error"]["code"]) == ("failed", "invalid_output")


@pytest.mark.parametrize("value", ["NaN", r'"\u0000"', r'"\ud800"', "1e999"])
async def test_an_output_that_cannot_be_kept_fails_the_step(
    desk: Desk, theirs: TlsReceiver, value: str
) -> None:
    run, url = await accepted(desk, theirs)
    body = f'{{"status": "succeeded", "output": {{"metadata": {{"a": {value}}}}}}}'
    answer = await desk.stranger.post(url, content=body)
    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["issues"]] == ["output.metadata.a"]
    assert (await desk.ask(run))["error"]["code"] == "invalid_output"


async def test_fields_that_only_a_model_knows_fail_no_run(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs)
    found = {"kind": "face", "start_ms": 0, "end_ms": 9, "keyframes": [], "age": {"years": 7}}
    output = {"annotations": [found], "model": "faces-2"}
    answer = await desk.call_back(url, {"status": "succeeded", "output": output})
    assert answer.status_code == 200, answer.text
    del found["keyframes"]
    assert await desk.output(run) == {"metadata": {}, "annotations": [found]}
    assert (await desk.line.shown(run))["status"] == "succeeded"


async def test_what_is_no_callback_changes_nothing(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs)
    answer = await desk.call_back(url, {"status": "failed", "error": {"message": ""}})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert (await desk.stranger.post(url, content=b"{")).status_code == 400
    assert (await desk.ask(run))["status"] == "waiting_external"
    cut_short = await desk.call_back(url[:-1], {"status": "heartbeat"})
    assert (cut_short.status_code, cut_short.json()["error"]) == (404, "callback_not_found")


async def test_nobody_waits_in_a_cancelled_run(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs)
    await desk.line.made(f"pipeline-runs/{run['id']}/cancel")
    answer = await desk.call_back(url, {"status": "heartbeat"})
    assert (answer.status_code, answer.json()["error"]) == (409, "step_not_waiting")


async def test_only_a_hash_of_the_address_is_stored(desk: Desk, theirs: TlsReceiver) -> None:
    run, url = await accepted(desk, theirs)
    secret = url.rsplit("/", 1)[-1]
    assert len(secret) == 43
    [row] = await desk.line.run_sql(
        "SELECT a::text AS whole FROM pipeline_attempt a WHERE run_id = %s", run["id"]
    )
    assert secret not in row["whole"]
