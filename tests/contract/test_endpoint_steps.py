"""Endpoint steps: what is sent, what answers do, who may send."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pytest
from psycopg.conninfo import make_conninfo
from standardwebhooks import Webhook, WebhookVerificationError

from framekiln.db.pool import Connection, Database
from framekiln.jobs.model import JobContext
from framekiln.pipelines.execution.unit_transitions import MAX_TAKES
from framekiln.pipelines.outputs.model import StepOutput
from tests.support.endpoint_harness import (
    DONE,
    OUTPUT,
    EndpointHarness,
    TlsReceiver,
    attempt_handler,
    kill_during_request,
    request_json,
)
from tests.support.pipelines import ScriptedRunner, step
from tests.support.postgres import PostgresServer
from tests.support.receiver import NO_ANSWER, Answer, ReceivedRequest
from tests.support.timeouts import TIMEOUT_S

pytestmark = pytest.mark.spec("4.7")


@pytest.fixture(autouse=True)
async def _empty_queue(endpoints: EndpointHarness) -> None:
    await endpoints.clear()


class AskedDatabase(Database):
    """Counts who asked for a connection, also before it was opened."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(conninfo)
        self.asked = asyncio.Semaphore(0)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        self.asked.release()
        async with super().connection() as connection:
            yield connection


class TestRequests:
    @pytest.mark.spec("5")
    async def test_a_standard_library_accepts_the_signature(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer(DONE)
        endpoint = await endpoints.create_endpoint(
            endpoint_receiver.url("/work?x=1"), headers={"X-Mine": "a b"}
        )
        run = await endpoints.start_run(endpoint)
        assert await endpoints.send_due() == 1
        [request] = endpoint_receiver.requests
        assert (request.method, request.path) == ("POST", "/work?x=1")
        assert request.headers["user-agent"] == "Service-Pipelines/1"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["x-mine"] == "a b"
        verifier = Webhook(endpoint["signing_secret"])
        assert verifier.verify(request.body, dict(request.headers)) == request_json(request)
        body = request_json(request)
        assert request.headers["webhook-id"] == body["idempotency_key"]
        assert "." not in body["idempotency_key"]
        for name, wrong in (
            ("webhook-timestamp", str(int(request.headers["webhook-timestamp"]) - 301)),
            ("webhook-id", body["idempotency_key"] + "0"),
            ("webhook-signature", "v1," + "A" * 43 + "="),
        ):
            with pytest.raises(WebhookVerificationError):
                verifier.verify(request.body, {**request.headers, name: wrong})
        with pytest.raises(WebhookVerificationError):
            verifier.verify(request.body + b" ", dict(request.headers))
        other = await endpoints.create_endpoint(endpoint_receiver.url())
        with pytest.raises(WebhookVerificationError):
            Webhook(other["signing_secret"]).verify(request.body, dict(request.headers))
        assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"
        assert await endpoints.get_output(run) == OUTPUT

    async def test_the_request_body_has_all_documented_fields(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        line = endpoints.pipelines
        looking, sampling = line.handler.runners["probe"], line.handler.runners["sample_frames"]
        assert isinstance(looking, ScriptedRunner)
        assert isinstance(sampling, ScriptedRunner)
        looking.results = [StepOutput({"width": 320})]
        sampling.results = [StepOutput({"every_ms": 500, "frame_count": 4, "first_ms": 0})]
        endpoint = await endpoints.create_endpoint(
            endpoint_receiver.url(), callback_timeout_ms=90_000
        )
        pipeline = await line.create_pipeline(
            {
                "steps": {
                    "look": step("probe"),
                    "frames": step("sample_frames", "look", with_={"every_ms": 500}),
                    "ask": step(
                        "endpoint",
                        "frames",
                        namespace="faces",
                        with_={"endpoint_id": endpoint["id"]},
                    ),
                }
            }
        )
        run = await line.start_run(pipeline, await endpoints.add_file(), external_id="mine")
        await line.run_all_jobs()
        assert await endpoints.send_due() == 1
        body = request_json(endpoint_receiver.requests[0])
        deadline = (line.clock.now() + timedelta(seconds=90)).isoformat()
        media, callback = body.pop("media"), body.pop("callback")
        tracks = [
            {"track_id": 1, "type": "video", "codec": "h264", "width": 320, "height": 240},
            {"track_id": 2, "type": "audio", "codec": "h264", "sample_rate": 48000, "channels": 2},
        ]
        assert body == {
            "pipeline_id": pipeline,
            "pipeline_version": 1,
            "pipeline_run_id": run["id"],
            "step_run_id": (await endpoints.get_step(run))["id"],
            "step_key": "ask",
            "namespace": "faces",
            "attempt": 1,
            "idempotency_key": (await endpoints.attempts(run))[0]["idempotency_key"],
            "external_id": "mine",
            "deadline_at": deadline,
            "file": {
                "id": run["file_id"],
                "filename": "clip.mp4",
                "status": "ready",
                "duration_ms": 2000,
                "tracks": [{**each, "duration_ms": 2000} for each in tracks],
            },
            "window": None,
            "metadata": {
                "look": {"metadata": {"width": 320}, "annotations": []},
                "frames": {
                    "metadata": {"every_ms": 500, "frame_count": 4, "first_ms": 0},
                    "annotations": [],
                },
            },
        }
        assert callback["expires_at"] == deadline
        assert "/api/v1/pipeline-callbacks/" in callback["url"]
        until = datetime.fromisoformat(media["expires_at"]) - line.clock.now()
        assert timedelta(hours=3, minutes=59) < until <= timedelta(hours=4)
        assert [each["t_ms"] for each in media["frames"]] == [0, 500, 1000, 1500]
        below = f"/api/v1/files/{run['file_id']}"
        urls = [media["source_url"], media["index_url"], media["audio_url"]]
        urls += [each["url"] for each in media["frames"]]
        assert [urlsplit(each).path for each in urls] == [
            f"{below}/{name}"
            for name in (
                *("content", "index", "tracks/2"),
                *(f"frames/{at_ms}.jpg" for at_ms in (0, 500, 1000, 1500)),
            )
        ]
        assert all(urlsplit(each).query.startswith("media_token=") for each in urls)

    @pytest.mark.spec("5")
    async def test_media_addresses_need_no_key(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        file = await endpoints.add_file()
        names = {
            "source_url": "source",
            "index_url": "index.json",
            "audio_url": "tracks/2.mp4",
            "frame": "frames/500.jpg",
        }
        for name in names.values():
            await endpoints.store(file, name, name.encode())
        sampling = endpoints.pipelines.handler.runners["sample_frames"]
        assert isinstance(sampling, ScriptedRunner)
        sampling.results = [StepOutput({"every_ms": 500, "frame_count": 1, "first_ms": 500})]
        endpoint = await endpoints.create_endpoint(endpoint_receiver.url())
        ask = step("endpoint", "frames", with_={"endpoint_id": endpoint["id"]})
        pipeline = await endpoints.pipelines.create_pipeline(
            {"steps": {"frames": step("sample_frames"), "ask": ask}}
        )
        await endpoints.pipelines.start_run(pipeline, file)
        await endpoints.pipelines.run_all_jobs()
        await endpoints.send_due()
        media = request_json(endpoint_receiver.requests[0])["media"]
        other = await endpoints.add_file()
        for name, blob in names.items():
            url = media["frames"][0]["url"] if name == "frame" else media[name]
            found = await endpoints.anonymous.get(url)
            assert (found.status_code, found.content) == (200, blob.encode()), name
            for wrong in (url.split("?")[0], url.replace(file, other)):
                assert (await endpoints.anonymous.get(wrong)).status_code == 401

    async def test_the_request_of_a_window_names_its_window(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        line = endpoints.pipelines

        def answer(_: ReceivedRequest) -> Answer:
            # The run fails with the first answer, and then sends no more.
            endpoint_receiver.wait_for(2)
            return DONE

        endpoint_receiver.answer_by(answer)
        endpoint = await endpoints.create_endpoint(endpoint_receiver.url())
        granularity = {"mode": "segment", "window_ms": 1000, "overlap_ms": 500}
        ask = step("endpoint", granularity=granularity, with_={"endpoint_id": endpoint["id"]})
        file = await endpoints.add_file()
        await put_index(endpoints, file, starts_ms=(0, 500, 1000, 1500), end_ms=2000)
        run = await line.start_run(await line.create_pipeline({"steps": {"ask": ask}}), file)
        await line.tick()
        assert await endpoints.send_due() == 2
        bodies = sorted(
            map(request_json, endpoint_receiver.requests), key=lambda body: body["window"]["index"]
        )
        assert [body["window"] for body in bodies] == [
            {"index": 0, "start_ms": 0, "end_ms": 1000, "overlap_ms": 0},
            {"index": 1, "start_ms": 1000, "end_ms": 2000, "overlap_ms": 500},
        ]
        assert len({body["idempotency_key"] for body in bodies}) == 2
        # The annotation of the answer lies in the first window alone.
        shown = await line.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "invalid_output")


class TestAnswers:
    async def test_a_temporary_failure_is_retried(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer_next(
            Answer(503, headers={"Retry-After": "40"}), Answer(drop=True), DONE
        )
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        assert await endpoints.send_due() == 1
        ask = await endpoints.get_step(run)
        assert (ask["status"], ask["attempt"]) == ("ready", 1)
        assert ask["error"]["code"] == "endpoint_unavailable"
        for wait_s, status in ((40, "ready"), (20, "succeeded")):
            endpoints.pipelines.clock.advance(timedelta(seconds=wait_s - 1))
            await endpoints.pipelines.tick()
            assert await endpoints.send_due() == 0
            endpoints.pipelines.clock.advance(timedelta(seconds=1))
            await endpoints.pipelines.tick()
            assert await endpoints.send_due() == 1
            assert (await endpoints.get_step(run))["status"] == status
        bodies = list(map(request_json, endpoint_receiver.requests))
        assert [body["attempt"] for body in bodies] == [1, 2, 3]
        for name in ("idempotency_key", "callback"):
            assert len({str(body[name]) for body in bodies}) == 3
        listed = await endpoints.pipelines.get(f"pipeline-runs/{run['id']}/attempts")
        attempts = listed["attempts"]
        assert [(each["number"], each["state"]) for each in attempts] == [
            (1, "done"),
            (2, "done"),
            (3, "done"),
        ]
        assert all(each["created_at"] <= each["sent_at"] <= each["ended_at"] for each in attempts)

    async def test_a_step_fails_after_three_attempts(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer(Answer(500))
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        for _ in range(3):
            assert await endpoints.send_due() == 1
            endpoints.pipelines.clock.advance(timedelta(minutes=1))
            await endpoints.pipelines.tick()
        assert await endpoints.send_due() == 0
        shown = await endpoints.pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "endpoint_unavailable")
        await endpoints.pipelines.create(f"pipeline-runs/{run['id']}/retry")
        endpoint_receiver.answer(DONE)
        assert await endpoints.send_due() == 1
        assert request_json(endpoint_receiver.requests[-1])["attempt"] == 4
        assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"

    async def test_a_slow_endpoint_times_out(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer(NO_ANSWER)
        run = await endpoints.start_run(
            await endpoints.create_endpoint(endpoint_receiver.url(), timeout_ms=1000)
        )
        await endpoints.send_due()
        ask = await endpoints.get_step(run)
        assert (ask["status"], ask["error"]["code"]) == ("ready", "endpoint_unavailable")

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            (Answer(302, headers={"Location": "https://127.0.0.1:1/"}), "endpoint_refused"),
            (Answer(404), "endpoint_refused"),
            (Answer(200, b"nonsense"), "invalid_output"),
            (Answer(200, b'{"metadata": {"a": "%s"}}' % (b"x" * (1 << 20))), "invalid_output"),
            (Answer(200, b" " * (5 << 20)), "invalid_output"),
        ],
    )
    async def test_a_permanent_failure_fails_the_run(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, answer: Answer, code: str
    ) -> None:
        endpoint_receiver.answer(answer)
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        await endpoints.send_due()
        shown = await endpoints.pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", code)
        assert shown["error"]["step_key"] == "ask"

    async def test_an_empty_answer_is_an_empty_output(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer(Answer(204))
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        await endpoints.send_due()
        assert await endpoints.get_output(run) == {"metadata": {}, "annotations": []}

    async def test_archiving_an_endpoint_fails_its_waiting_attempts(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint = await endpoints.create_endpoint(endpoint_receiver.url())
        run = await endpoints.start_run(endpoint)
        await endpoints.pipelines.create(f"pipeline-endpoints/{endpoint['id']}/archive")
        await endpoints.send_due()
        shown = await endpoints.pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "endpoint_not_found")
        assert endpoint_receiver.requests == []

    async def test_a_response_after_cancellation_is_ignored(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))

        def answer(_: ReceivedRequest) -> Answer:
            cancel = endpoints.pipelines.create(f"pipeline-runs/{run['id']}/cancel")
            asyncio.run_coroutine_threadsafe(cancel, endpoints.loop).result(TIMEOUT_S)
            return DONE

        endpoint_receiver.answer_by(answer)
        await endpoints.send_due()
        assert (await endpoints.get_step(run))["status"] == "cancelled"
        assert [each["state"] for each in await endpoints.attempts(run)] == ["done"]


class TestDeadWorkers:
    async def test_the_same_attempt_is_delivered_again(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        [job] = await endpoints.take_jobs()
        await kill_during_request(endpoints, endpoint_receiver, job)
        endpoint_receiver.answer(DONE)
        await endpoints.run_job(job)
        first, second = map(request_json, endpoint_receiver.requests)
        for name in ("idempotency_key", "attempt", "callback"):
            assert first[name] == second[name]
        assert (await endpoints.get_step(run))["attempt"] == 1
        assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"

    async def test_a_lost_job_is_detected_and_sent_again(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer(DONE)
        run = await endpoints.start_run(
            await endpoints.create_endpoint(endpoint_receiver.url(), timeout_ms=300_000)
        )
        [job] = await endpoints.take_jobs()
        await kill_during_request(endpoints, endpoint_receiver, job)
        endpoints.pipelines.clock.advance(timedelta(minutes=15))
        await endpoints.pipelines.tick()
        [other] = await endpoints.take_jobs()
        endpoint_receiver.answer(DONE)
        await endpoints.run_job(other)
        await endpoints.run_job(job)
        keys = [request_json(each)["idempotency_key"] for each in endpoint_receiver.requests]
        assert len(keys) == 2
        assert len(set(keys)) == 1
        assert (await endpoints.pipelines.get_run(run))["status"] == "succeeded"

    async def test_a_step_whose_jobs_are_lost_again_and_again_fails(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        for _ in range(MAX_TAKES):
            [job] = await endpoints.take_jobs()
            await kill_during_request(endpoints, endpoint_receiver, job)
            endpoints.pipelines.clock.advance(timedelta(minutes=15))
            await endpoints.pipelines.tick()
        assert await endpoints.send_due() == 1
        assert len(endpoint_receiver.requests) == MAX_TAKES
        shown = await endpoints.pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "step_kills_workers")
        assert [each["state"] for each in await endpoints.attempts(run)] == ["done"]

    async def test_a_step_whose_job_is_lost_and_whose_file_is_deleted_fails(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        [job] = await endpoints.take_jobs()
        await kill_during_request(endpoints, endpoint_receiver, job)
        await endpoints.pipelines.run_sql("DELETE FROM file WHERE id = %s", run["file_id"])
        endpoints.pipelines.clock.advance(timedelta(minutes=15))
        await endpoints.pipelines.tick()
        await endpoints.send_due()
        assert (await endpoints.pipelines.get_run(run))["error"]["code"] == "file_failed"

    async def test_a_database_outage_before_the_request_costs_no_attempt(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver, postgres: PostgresServer
    ) -> None:
        endpoint_receiver.answer(DONE)
        run = await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        [job] = await endpoints.take_jobs()
        # Nobody answers until it is opened.
        [row] = await endpoints.pipelines.run_sql("SELECT current_database() AS name")
        database = AskedDatabase(make_conninfo(postgres.conninfo, dbname=row["name"]))
        handler = attempt_handler(
            endpoints.pipelines.app.services, endpoints.pipelines, keys_in=database
        )
        context = JobContext(job["id"], "pipeline.send", job["args"], attempt=1)
        waiting = asyncio.create_task(handler(context))
        # Twice: whoever asks again has waited.
        for _ in range(2):
            await database.asked.acquire()
        assert endpoint_receiver.requests == []
        await database.open()
        await waiting
        await database.close()
        assert [request_json(each)["attempt"] for each in endpoint_receiver.requests] == [1]
        assert (await endpoints.get_step(run))["status"] == "succeeded"

    async def test_two_jobs_for_one_attempt_send_one_request(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer(DONE)
        await endpoints.start_run(await endpoints.create_endpoint(endpoint_receiver.url()))
        [job] = await endpoints.take_jobs()
        await asyncio.gather(
            endpoints.run_job(job), endpoints.run_job({**job, "id": job["id"] + 100_000})
        )
        assert len(endpoint_receiver.requests) == 1


class TestSlots:
    async def test_responses_and_acceptances_release_the_concurrency_limit(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        endpoint_receiver.answer_next(Answer(202), DONE)
        endpoint = await endpoints.create_endpoint(endpoint_receiver.url(), max_concurrency=1)
        for _ in range(3):
            await endpoints.start_run(endpoint)
        for _ in range(3):
            [job] = await endpoints.take_jobs()
            await endpoints.run_job(job)
        assert await endpoints.take_jobs() == []

    async def test_a_step_has_its_own_concurrency_limit(
        self, endpoints: EndpointHarness, endpoint_receiver: TlsReceiver
    ) -> None:
        line = endpoints.pipelines
        endpoint = await endpoints.create_endpoint(endpoint_receiver.url(), max_concurrency=5)
        pipelines = [
            await line.create_pipeline(
                {
                    "steps": {
                        "ask": step(
                            "endpoint",
                            with_={"endpoint_id": endpoint["id"], "max_concurrency": limit},
                        )
                    }
                }
            )
            for limit in (2, 8)
        ]
        file = await line.add_file()
        narrow = [await line.start_run(pipelines[0], file) for _ in range(6)]
        wide = [await line.start_run(pipelines[1], file) for _ in range(6)]
        jobs = await endpoints.take_jobs()
        runs = [job["args"]["run_id"] for job in jobs]
        # The oldest of each; those of the full step are passed over.
        assert sorted(runs) == sorted(run["id"] for run in (*narrow[:2], *wide[:3]))


async def put_index(
    endpoints: EndpointHarness, file_id: str, *, starts_ms: tuple[int, ...], end_ms: int
) -> None:
    """Give a file fragments that begin then."""
    ends = (*starts_ms[1:], end_ms)
    segments = [
        {"cts": start, "dts": start, "duration": end - start, "offset": 0, "size": 1}
        for start, end in zip(starts_ms, ends, strict=True)
    ]
    index = {"1": {"track": 1, "type": "video", "timescale": 1000, "segments": segments}}
    await endpoints.store(file_id, "index.json", json.dumps(index).encode())
