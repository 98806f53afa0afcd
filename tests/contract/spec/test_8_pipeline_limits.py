"""Clause 8 for pipelines, and the rest of 4.7, 5 and 7: every limit at both of its sides.

Limits that the pure parts hold alone are tested at them, in `tests/unit/pipelines`.
"""

import asyncio
import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from framekiln.files.model import File
from framekiln.kit.canonical_json import canonical_json
from framekiln.kit.clock import SystemClock
from framekiln.pipelines.endpoints.request_body import media_expiry
from framekiln.pipelines.execution import handlers
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_media import StepMedia
from framekiln.pipelines.execution.step_type import StepWork
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES, StepOutput
from framekiln.pipelines.steps.transcribe import TranscribeRunner
from framekiln.transcripts.recognizer import Recognizer
from framekiln.webhooks.signatures import new_secret, standard_headers
from tests.contract.spec.test_4_7_pipelines import ENDPOINT, ROUTES, issues, refused
from tests.support.api_document import api_document
from tests.support.endpoint_harness import (
    DONE,
    EndpointHarness,
    TlsReceiver,
    request_json,
    start_accepted_run,
)
from tests.support.pipelines import API, PipelineHarness, ScriptedRunner, step
from tests.support.receiver import Answer

pytestmark = pytest.mark.spec("8")


@pytest.fixture(autouse=True)
async def _empty_queue(endpoints: EndpointHarness) -> None:
    await endpoints.clear()


@pytest.fixture
def pipelines(endpoints: EndpointHarness) -> PipelineHarness:
    return endpoints.pipelines


@pytest.mark.spec("5", "7")
def test_the_list_of_routes_is_complete() -> None:
    """What is tried without pipelines, without a key and with unknown ids is all there is."""
    document = api_document()
    there = {
        (method.upper(), path.removeprefix(f"{API}/"))
        for path, methods in document["paths"].items()
        for method in methods
        if "pipeline" in path or path.startswith(f"{API}/files/{{file_id}}/metadata")
    }
    there.remove(("POST", "pipeline-callbacks/{callback_id}"))
    assert {(method, _shape(path)) for method, path in there} == {
        (method, _shape(path)) for method, path, _ in ROUTES
    }


def _shape(path: str) -> tuple[str, ...]:
    """Return a path with its parameters left out; some are spelled out in the list."""
    parts = path.replace("/look", "/{}").replace("/versions/1", "/versions/{}").split("/")
    return tuple("{}" if part.startswith("{") else part for part in parts)


@pytest.mark.spec("4.7")
@pytest.mark.parametrize(
    "name",
    [
        *("host", "connection", "keep-alive", "upgrade", "te", "trailer", "transfer-encoding"),
        *("expect", "content-length", "content-type", "content-encoding", "user-agent"),
        *("proxy-", "proxy-authorization", "webhook-", "webhook-signature", "Host", "Webhook-Id"),
    ],
)
async def test_reserved_headers_cannot_be_set(pipelines: PipelineHarness, name: str) -> None:
    answer = await pipelines.post("pipeline-endpoints", {**ENDPOINT, "headers": {name: "x"}})
    assert issues(answer) == {(f"headers.{name}", "not_allowed")}


@pytest.mark.parametrize(
    "settings",
    [
        {"timeout_ms": 1000, "callback_timeout_ms": 1000, "max_concurrency": 1},
        {"timeout_ms": 600_000, "callback_timeout_ms": 2_592_000_000, "max_concurrency": 1024},
        {"headers": {f"x{number}": "a" for number in range(16)}},
    ],
)
async def test_endpoints_accept_values_at_their_limits(
    pipelines: PipelineHarness, settings: dict[str, Any]
) -> None:
    made = await pipelines.create("pipeline-endpoints", {**ENDPOINT, **settings})
    assert set(made["headers"]) == set(settings.pop("headers", {}))
    assert {name: made[name] for name in settings} == settings


@pytest.mark.spec("2.11")
async def test_a_batch_of_one_run_has_the_default_concurrency(pipelines: PipelineHarness) -> None:
    body = {
        "pipeline_id": await pipelines.create_pipeline(),
        "runs": [{"file_id": await pipelines.add_file()}],
    }
    batch = (await pipelines.create("pipeline-batches", body))["batch"]
    assert (batch["run_count"], batch["max_in_flight"]) == (1, 100)
    one = {**body, "runs": [{"file_id": await pipelines.add_file()}], "max_in_flight": 1}
    assert (await pipelines.create("pipeline-batches", one))["batch"]["max_in_flight"] == 1


@pytest.mark.spec("5")
def test_signatures_are_valid_for_300_seconds() -> None:
    secret, now = new_secret(), SystemClock().now()
    for seconds in (-290, 0, 290):
        signed = _signed(secret, now + timedelta(seconds=seconds))
        assert Webhook(secret).verify(b"{}", signed) == {}
    for seconds in (-310, 310):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(b"{}", _signed(secret, now + timedelta(seconds=seconds)))


def _signed(secret: str, now: datetime) -> dict[str, str]:
    return standard_headers("{}", message_id="m", now=now, keys=[secret])


@pytest.mark.spec("4.7", "5")
@pytest.mark.parametrize(
    ("age", "status"), [(timedelta(minutes=239), 200), (timedelta(minutes=241), 401)]
)
async def test_media_addresses_are_valid_for_four_hours(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, age: timedelta, status: int
) -> None:
    """The request was made that long ago; the service's own clock says what time it is."""
    now = SystemClock().now()
    endpoints.pipelines.clock.set(now - age)
    file = await endpoints.add_file()
    await endpoints.store(file, "source", b"a film")
    await endpoints.start_run(
        await endpoints.create_endpoint(endpoint_receiver.url()), file_id=file
    )
    await endpoints.send_due()
    media = request_json(endpoint_receiver.requests[0])["media"]
    until = datetime.fromisoformat(media["expires_at"])
    assert timedelta(0) <= now - age + timedelta(hours=4) - until < timedelta(seconds=1)
    assert (await endpoints.anonymous.get(media["source_url"])).status_code == status


async def test_media_addresses_expire_with_the_file(endpoints: EndpointHarness) -> None:
    caller = await endpoints.pipelines.app.services.identity.authenticate(
        endpoints.pipelines.app.key
    )
    [row] = await endpoints.pipelines.run_sql(
        "SELECT id FROM file WHERE id = %s", await endpoints.add_file()
    )
    file: File = await endpoints.pipelines.app.services.files.get(caller.organization.id, row["id"])
    now = SystemClock().now()
    soon, late = now + timedelta(minutes=5), now + timedelta(days=5)
    assert media_expiry(replace(file, expires_at=soon), now) == soon
    for each in (late, None):
        until = media_expiry(replace(file, expires_at=each), now)
        assert timedelta(hours=3, minutes=59) < until - now <= timedelta(hours=4)


@pytest.mark.spec("4.7")
@pytest.mark.parametrize(("taken", "sent"), [(1000, 1000), (1001, 1000)])
async def test_a_request_has_at_most_1000_frames(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, taken: int, sent: int
) -> None:
    """They come from all steps that took some, each instant once."""
    sampling = endpoints.pipelines.handler.runners["sample_frames"]
    assert isinstance(sampling, ScriptedRunner)
    sampling.results = [
        StepOutput({"every_ms": 200, "frame_count": taken - 1, "first_ms": 0}),
        StepOutput({"every_ms": 200, "frame_count": 2, "first_ms": (taken - 2) * 200}),
    ]
    endpoint = await endpoints.create_endpoint(endpoint_receiver.url())
    ask = step("endpoint", "first", "second", with_={"endpoint_id": endpoint["id"]})
    steps = {"first": step("sample_frames"), "second": step("sample_frames"), "ask": ask}
    await endpoints.pipelines.start_run(
        await endpoints.pipelines.create_pipeline({"steps": steps}), await endpoints.add_file()
    )
    await endpoints.pipelines.run_all_jobs()
    await endpoints.send_due()
    frames = request_json(endpoint_receiver.requests[0])["media"]["frames"]
    times = [each["t_ms"] for each in frames]
    assert len(times) == sent
    assert times == sorted(set(times))
    assert (times[0], times[-1] >= (taken - 2) * 200) == (0, True)


@pytest.mark.spec("4.7", "7")
@pytest.mark.parametrize(
    ("error", "issue"),
    [
        ({"message": "x" * 1000, "code": "a" * 64}, None),
        ({"message": "x"}, None),
        ({"message": ""}, ("error.message", "empty")),
        ({"message": "x" * 1001}, ("error.message", "too_long")),
        ({"message": "x", "code": "a" * 65}, ("error.code", "too_long")),
        ({"message": "x", "code": "A"}, ("error.code", "pattern")),
        ({"message": "x", "code": "1a"}, ("error.code", "pattern")),
        ({"code": "a"}, ("error.message", "required")),
    ],
)
async def test_the_error_of_a_callback_is_validated_and_stored(
    endpoints: EndpointHarness,
    endpoint_receiver: TlsReceiver,
    error: dict[str, Any],
    issue: tuple[str, str] | None,
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    answer = await endpoints.call_back(url, {"status": "failed", "error": error})
    shown = await endpoints.pipelines.get_run(run)
    if issue is None:
        assert answer.status_code == 200
        found = {key: shown["error"][key] for key in error}
        assert (shown["status"], found) == ("failed", error)
    else:
        assert issues(answer) == {issue}
        assert shown["status"] == "running"


@pytest.mark.spec("4.7", "7")
@pytest.mark.parametrize("more", [0, 1])
async def test_outputs_have_at_most_one_mebibyte(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, more: int
) -> None:
    empty = {"metadata": {"a": ""}, "annotations": []}
    output = {
        **empty,
        "metadata": {"a": "x" * (MAX_OUTPUT_BYTES - len(canonical_json(empty)) + more)},
    }
    endpoint_receiver.answer(Answer(200, json.dumps(output).encode()))
    run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
    await endpoints.send_due()
    shown = await endpoints.pipelines.get_run(run)
    if more:
        assert (shown["status"], shown["error"]["code"]) == ("failed", "invalid_output")
    else:
        assert shown["status"] == "succeeded"
        assert await endpoints.get_output(run) == output


@pytest.mark.spec("4.7", "7")
@pytest.mark.parametrize(
    ("output", "code"),
    [
        ({"annotations": [{"kind": "a", "start_ms": 0, "end_ms": 1}] * 10_000}, None),
        ({"annotations": [{"kind": "a", "start_ms": 0, "end_ms": 1}] * 10_001}, "invalid_output"),
        ({"metadata": {"a": json.loads("[" * 31 + "]" * 31)}}, None),
        ({"metadata": {"a": json.loads("[" * 32 + "1" + "]" * 32)}}, "invalid_output"),
    ],
    ids=["10000 annotations", "10001 annotations", "32 levels", "33 levels"],
)
async def test_outputs_are_limited_in_annotations_and_depth(
    endpoints: EndpointHarness,
    endpoint_receiver: TlsReceiver,
    output: dict[str, Any],
    code: str | None,
) -> None:
    run, url = await start_accepted_run(endpoints, endpoint_receiver)
    answer = await endpoints.call_back(url, {"status": "succeeded", "output": output})
    shown = await endpoints.pipelines.get_run(run)
    if code is None:
        assert (answer.status_code, shown["status"]) == (200, "succeeded")
    else:
        refused(answer, 422, "invalid_request")
        assert (shown["status"], shown["error"]["code"]) == ("failed", code)


@pytest.mark.spec("7")
class TestStepsThatFail:
    async def test_a_step_times_out(
        self, endpoints: EndpointHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class EndlessRunner:
            async def run(self, work: StepWork) -> StepOutput:
                await asyncio.Event().wait()
                raise AssertionError("unreachable")

        monkeypatch.setattr(handlers, "ATTEMPT_TIMEOUT", timedelta(milliseconds=20))
        line = endpoints.pipelines
        run = await line.start_run(await line.create_pipeline())
        [job] = await line.take_jobs()
        before, line.handler = (
            line.handler,
            RunStep(line.services.worker, {"probe": EndlessRunner()}),
        )
        await line.run_job(job)
        line.handler = before
        [shown] = (await line.get_run(run))["steps"]
        assert (shown["status"], shown["error"]["code"]) == ("ready", "step_timed_out")

    async def test_a_failed_transcription_fails_its_step(self, endpoints: EndpointHarness) -> None:
        line, parts = endpoints.pipelines, endpoints.pipelines.app.services
        media = StepMedia(parts.database, parts.files, parts.blobs)
        # Nothing is heard here.
        runner = TranscribeRunner(parts.database, media, parts.transcripts, cast(Recognizer, None))
        before, line.handler = line.handler, RunStep(line.services.worker, {"transcribe": runner})
        pipeline = await line.create_pipeline({"steps": {"said": step("transcribe")}})
        run = await line.start_run(pipeline, await endpoints.add_file())
        await line.run_all_jobs()
        await line.run_sql(
            "UPDATE transcription SET status = 'failed', error_code = 'x', error_message = 'deaf'"
        )
        line.clock.advance(timedelta(seconds=5))
        await line.tick()
        await line.run_all_jobs()
        line.handler = before
        [shown] = (await line.get_run(run))["steps"]
        assert shown["error"]["code"] == "transcription_failed"
        assert "deaf" in shown["error"]["message"]


async def test_an_output_within_all_limits_is_accepted(
    endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
) -> None:
    """So that what is refused above is refused for its own reason."""
    endpoint_receiver.answer(DONE)
    run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
    await endpoints.send_due()
    assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"
