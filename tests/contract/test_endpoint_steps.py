"""Endpoint steps: what is sent, what answers do, who may send."""

import asyncio
import json
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pytest
from psycopg.conninfo import make_conninfo
from standardwebhooks import Webhook, WebhookVerificationError

from framekiln.db.pool import Database
from framekiln.jobs.model import JobContext
from framekiln.pipelines.outputs.output import Output
from tests.support.endpoint_desk import (
    DONE,
    OUTPUT,
    Desk,
    TlsReceiver,
    killed_while_it_waits,
    sender,
    sent,
)
from tests.support.patience import PATIENCE_S
from tests.support.pipelines import Told, step
from tests.support.postgres import PostgresServer
from tests.support.receiver import NO_ANSWER, Answer, ReceivedRequest

pytestmark = pytest.mark.spec("4.7")


@pytest.fixture(autouse=True)
async def _nothing_left(desk: Desk) -> None:
    await desk.clear()


class TestRequests:
    @pytest.mark.spec("5")
    async def test_a_standard_library_accepts_the_signature(
        self, desk: Desk, theirs: TlsReceiver
    ) -> None:
        theirs.answer(DONE)
        endpoint = await desk.endpoint(theirs.url("/work?x=1"), headers={"X-Mine": "a b"})
        run = await desk.run(endpoint)
        assert await desk.send() == 1
        [request] = theirs.requests
        assert (request.method, request.path) == ("POST", "/work?x=1")
        assert request.headers["user-agent"] == "Service-Pipelines/1"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["x-mine"] == "a b"
        verifier = Webhook(endpoint["signing_secret"])
        assert verifier.verify(request.body, dict(request.headers)) == sent(request)
        body = sent(request)
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
        other = await desk.endpoint(theirs.url())
        with pytest.raises(WebhookVerificationError):
            Webhook(other["signing_secret"]).verify(request.body, dict(request.headers))
        assert (await desk.line.shown(run))["status"] == "succeeded"
        assert await desk.output(run) == OUTPUT

    async def test_everything_that_the_body_says(self, desk: Desk, theirs: TlsReceiver) -> None:
        line = desk.line
        looking, sampling = line.handler.runners["probe"], line.handler.runners["sample_frames"]
        assert isinstance(looking, Told)
        assert isinstance(sampling, Told)
        looking.answers = [Output({"width": 320})]
        sampling.answers = [Output({"every_ms": 500, "frame_count": 4, "first_ms": 0})]
        endpoint = await desk.endpoint(theirs.url(), callback_timeout_ms=90_000)
        pipeline = await line.pipeline(
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
        run = await line.run(pipeline, await desk.file(), external_id="mine")
        await line.work()
        assert await desk.send() == 1
        body = sent(theirs.requests[0])
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
            "step_run_id": (await desk.ask(run))["id"],
            "step_key": "ask",
            "namespace": "faces",
            "attempt": 1,
            "idempotency_key": (await desk.attempts(run))[0]["idempotency_key"],
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
    async def test_media_addresses_need_no_key(self, desk: Desk, theirs: TlsReceiver) -> None:
        file = await desk.file()
        names = {
            "source_url": "source",
            "index_url": "index.json",
            "audio_url": "tracks/2.mp4",
            "frame": "frames/500.jpg",
        }
        for name in names.values():
            await desk.store(file, name, name.encode())
        sampling = desk.line.handler.runners["sample_frames"]
        assert isinstance(sampling, Told)
        sampling.answers = [Output({"every_ms": 500, "frame_count": 1, "first_ms": 500})]
        endpoint = await desk.endpoint(theirs.url())
        ask = step("endpoint", "frames", with_={"endpoint_id": endpoint["id"]})
        pipeline = await desk.line.pipeline(
            {"steps": {"frames": step("sample_frames"), "ask": ask}}
        )
        await desk.line.run(pipeline, file)
        await desk.line.work()
        await desk.send()
        media = sent(theirs.requests[0])["media"]
        other = await desk.file()
        for name, blob in names.items():
            url = media["frames"][0]["url"] if name == "frame" else media[name]
            found = await desk.stranger.get(url)
            assert (found.status_code, found.content) == (200, blob.encode()), name
            for wrong in (url.split("?")[0], url.replace(file, other)):
                assert (await desk.stranger.get(wrong)).status_code == 401

    async def test_a_window_says_which(self, desk: Desk, theirs: TlsReceiver) -> None:
        line = desk.line
        theirs.answer(DONE)
        endpoint = await desk.endpoint(theirs.url())
        granularity = {"mode": "segment", "window_ms": 1000, "overlap_ms": 500}
        ask = step("endpoint", granularity=granularity, with_={"endpoint_id": endpoint["id"]})
        file = await desk.file()
        await put_index(desk, file, starts_ms=(0, 500, 1000, 1500), end_ms=2000)
        run = await line.run(await line.pipeline({"steps": {"ask": ask}}), file)
        await line.tick()
        assert await desk.send() == 2
        bodies = sorted(map(sent, theirs.requests), key=lambda body: body["window"]["index"])
        assert [body["window"] for body in bodies] == [
            {"index": 0, "start_ms": 0, "end_ms": 1000, "overlap_ms": 0},
            {"index": 1, "start_ms": 1000, "end_ms": 2000, "overlap_ms": 500},
        ]
        assert len({body["idempotency_key"] for body in bodies}) == 2
        # The annotation of the answer lies in the first window alone.
        shown = await line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "invalid_output")


class TestAnswers:
    async def test_a_failure_that_may_pass_is_tried_again(
        self, desk: Desk, theirs: TlsReceiver
    ) -> None:
        theirs.answer_next(Answer(503, headers={"Retry-After": "40"}), Answer(drop=True), DONE)
        run = await desk.run(await desk.endpoint(theirs.url()))
        assert await desk.send() == 1
        ask = await desk.ask(run)
        assert (ask["status"], ask["attempt"]) == ("ready", 1)
        assert ask["error"]["code"] == "endpoint_unavailable"
        for wait_s, status in ((40, "ready"), (20, "succeeded")):
            desk.line.clock.advance(timedelta(seconds=wait_s - 1))
            await desk.line.tick()
            assert await desk.send() == 0
            desk.line.clock.advance(timedelta(seconds=1))
            await desk.line.tick()
            assert await desk.send() == 1
            assert (await desk.ask(run))["status"] == status
        bodies = list(map(sent, theirs.requests))
        assert [body["attempt"] for body in bodies] == [1, 2, 3]
        for name in ("idempotency_key", "callback"):
            assert len({str(body[name]) for body in bodies}) == 3

    async def test_three_attempts_are_all(self, desk: Desk, theirs: TlsReceiver) -> None:
        theirs.answer(Answer(500))
        run = await desk.run(await desk.endpoint(theirs.url()))
        for _ in range(3):
            assert await desk.send() == 1
            desk.line.clock.advance(timedelta(minutes=1))
            await desk.line.tick()
        assert await desk.send() == 0
        shown = await desk.line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "endpoint_unavailable")
        await desk.line.made(f"pipeline-runs/{run['id']}/retry")
        theirs.answer(DONE)
        assert await desk.send() == 1
        assert sent(theirs.requests[-1])["attempt"] == 4
        assert (await desk.line.shown(run))["status"] == "succeeded"

    async def test_an_endpoint_that_takes_too_long(self, desk: Desk, theirs: TlsReceiver) -> None:
        theirs.answer(NO_ANSWER)
        run = await desk.run(await desk.endpoint(theirs.url(), timeout_ms=1000))
        await desk.send()
        ask = await desk.ask(run)
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
    async def test_a_failure_for_good(
        self, desk: Desk, theirs: TlsReceiver, answer: Answer, code: str
    ) -> None:
        theirs.answer(answer)
        run = await desk.run(await desk.endpoint(theirs.url()))
        await desk.send()
        shown = await desk.line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", code)
        assert shown["error"]["step_key"] == "ask"

    async def test_an_empty_answer_is_an_empty_output(
        self, desk: Desk, theirs: TlsReceiver
    ) -> None:
        theirs.answer(Answer(204))
        run = await desk.run(await desk.endpoint(theirs.url()))
        await desk.send()
        assert await desk.output(run) == {"metadata": {}, "annotations": []}

    async def test_archived_while_an_attempt_waits(self, desk: Desk, theirs: TlsReceiver) -> None:
        endpoint = await desk.endpoint(theirs.url())
        run = await desk.run(endpoint)
        await desk.line.made(f"pipeline-endpoints/{endpoint['id']}/archive")
        await desk.send()
        shown = await desk.line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "endpoint_not_found")
        assert theirs.requests == []

    async def test_cancelled_while_it_is_asked(self, desk: Desk, theirs: TlsReceiver) -> None:
        run = await desk.run(await desk.endpoint(theirs.url()))

        def answer(_: ReceivedRequest) -> Answer:
            cancel = desk.line.made(f"pipeline-runs/{run['id']}/cancel")
            asyncio.run_coroutine_threadsafe(cancel, desk.loop).result(PATIENCE_S)
            return DONE

        theirs.answer_by(answer)
        await desk.send()
        assert (await desk.ask(run))["status"] == "cancelled"
        assert [each["state"] for each in await desk.attempts(run)] == ["done"]


class TestDeadWorkers:
    async def test_the_same_attempt_is_delivered_again(
        self, desk: Desk, theirs: TlsReceiver
    ) -> None:
        run = await desk.run(await desk.endpoint(theirs.url()))
        [job] = await desk.jobs()
        await killed_while_it_waits(desk, theirs, job)
        theirs.answer(DONE)
        await desk.do(job)
        first, second = map(sent, theirs.requests)
        for name in ("idempotency_key", "attempt", "callback"):
            assert first[name] == second[name]
        assert (await desk.ask(run))["attempt"] == 1
        assert (await desk.line.shown(run))["status"] == "succeeded"

    async def test_a_lost_job_is_missed(self, desk: Desk, theirs: TlsReceiver) -> None:
        theirs.answer(DONE)
        run = await desk.run(await desk.endpoint(theirs.url(), timeout_ms=300_000))
        [job] = await desk.jobs()
        await killed_while_it_waits(desk, theirs, job)
        desk.line.clock.advance(timedelta(minutes=15))
        await desk.line.tick()
        [other] = await desk.jobs()
        theirs.answer(DONE)
        await desk.do(other)
        await desk.do(job)
        keys = [sent(each)["idempotency_key"] for each in theirs.requests]
        assert len(keys) == 2
        assert len(set(keys)) == 1
        assert (await desk.line.shown(run))["status"] == "succeeded"

    async def test_a_database_that_is_away_before_sending_costs_no_attempt(
        self, desk: Desk, theirs: TlsReceiver, postgres: PostgresServer
    ) -> None:
        theirs.answer(DONE)
        run = await desk.run(await desk.endpoint(theirs.url()))
        [job] = await desk.jobs()
        # Nobody answers until it is opened.
        [row] = await desk.line.run_sql("SELECT current_database() AS name")
        database = Database(make_conninfo(postgres.conninfo, dbname=row["name"]))
        handler = sender(desk.line.kiln.services, desk.line, keys_in=database)
        context = JobContext(job["id"], "pipeline.send", job["args"], attempt=1)
        waiting = asyncio.create_task(handler(context))
        await asyncio.sleep(0.2)
        assert theirs.requests == []
        await database.open()
        await waiting
        await database.close()
        assert [sent(each)["attempt"] for each in theirs.requests] == [1]
        assert (await desk.ask(run))["status"] == "succeeded"

    async def test_two_jobs_for_one_attempt(self, desk: Desk, theirs: TlsReceiver) -> None:
        theirs.answer(DONE)
        await desk.run(await desk.endpoint(theirs.url()))
        [job] = await desk.jobs()
        await asyncio.gather(desk.do(job), desk.do({**job, "id": job["id"] + 100_000}))
        assert len(theirs.requests) == 1


class TestSlots:
    async def test_answers_and_acceptances_let_the_next_through(
        self, desk: Desk, theirs: TlsReceiver
    ) -> None:
        theirs.answer_next(Answer(202), DONE)
        endpoint = await desk.endpoint(theirs.url(), max_concurrency=1)
        for _ in range(3):
            await desk.run(endpoint)
        for _ in range(3):
            [job] = await desk.jobs()
            await desk.do(job)
        assert await desk.jobs() == []

    async def test_a_step_keeps_to_its_own_limit(self, desk: Desk, theirs: TlsReceiver) -> None:
        line = desk.line
        endpoint = await desk.endpoint(theirs.url(), max_concurrency=5)
        pipelines = [
            await line.pipeline(
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
        file = await line.file()
        narrow = [await line.run(pipelines[0], file) for _ in range(6)]
        wide = [await line.run(pipelines[1], file) for _ in range(6)]
        jobs = await desk.jobs()
        runs = [job["args"]["run_id"] for job in jobs]
        # The oldest of each; those of the full step are passed over.
        assert sorted(runs) == sorted(run["id"] for run in (*narrow[:2], *wide[:3]))


async def put_index(desk: Desk, file_id: str, *, starts_ms: tuple[int, ...], end_ms: int) -> None:
    """Give a file fragments that begin then."""
    ends = (*starts_ms[1:], end_ms)
    segments = [
        {"cts": start, "dts": start, "duration": end - start, "offset": 0, "size": 1}
        for start, end in zip(starts_ms, ends, strict=True)
    ]
    index = {"1": {"track": 1, "type": "video", "timescale": 1000, "segments": segments}}
    await desk.store(file_id, "index.json", json.dumps(index).encode())
