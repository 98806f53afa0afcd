"""Runs over a real database: results, failures, lost workers, files that come and go, events."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from framekiln.db.pool import DatabaseUnavailable
from framekiln.files.errors import FileExpired
from framekiln.jobs.ending import Failure
from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.errors import Unavailable
from framekiln.media.errors import UnreadableMedia
from framekiln.pipelines.model.ids import RunId
from framekiln.pipelines.outputs.output import MAX_OUTPUT_BYTES, Output
from framekiln.pipelines.runners.step import Waiting
from framekiln.pipelines.running.jobs import unit_of
from framekiln.pipelines.running.units import MAX_TAKES
from framekiln.webhooks.model import NewSubscription
from framekiln.webhooks.topics import TOPICS
from tests.support.pipelines import Line, Told, step

TWO = {"steps": {"look": step("probe"), "out": step("publish", "look")}}


@pytest.fixture(autouse=True)
async def _nothing_left(line: Line) -> None:
    await line.jobs()
    await line.run_sql("DELETE FROM pipeline_change")


@pytest.fixture
def probe(line: Line) -> Told:
    """What runs the first step."""
    found = line.handler.runners["probe"]
    assert isinstance(found, Told)
    found.answers, found.works = [], []
    return found


async def begun(line: Line, definition: Any = TWO) -> tuple[Any, list[dict[str, Any]]]:
    """Return a run and its first jobs."""
    run = await line.run(await line.pipeline(definition))
    return run, await line.jobs()


def keep(key: str, *, negated: bool = False) -> dict[str, Any]:
    """Return a filter that looks whether the probe found `key`."""
    leaf = {"path": f"look.metadata.{key}", "op": "exists"}
    return step("filter", "look", when={"not": leaf} if negated else leaf)


class TestOneAtATime:
    async def test_two_results_at_once_start_the_next_step_once(self, line: Line) -> None:
        definition = {
            "steps": {
                "a": step("probe"),
                "b": step("probe"),
                "both": step("publish", "a", "b"),
            }
        }
        run, jobs = await begun(line, definition)
        assert len(jobs) == 2
        await asyncio.gather(*(line.do(job) for job in jobs))
        following = await line.jobs()
        assert [job["args"]["step_key"] for job in following] == ["both"]
        await line.do(following[0])
        assert (await line.statuses(run))[""] == "succeeded"

    async def test_advancing_at_once_changes_nothing_more(self, line: Line) -> None:
        run, jobs = await begun(line)
        run_id = RunId(unit_of(jobs[0]["args"]).run_id)
        await asyncio.gather(*(line.services.advance.advance(run_id) for _ in range(5)))
        assert await line.jobs() == []
        assert (await line.statuses(run))["look"] == "ready"


class TestLostWorkers:
    async def test_a_second_job_finds_nothing_to_do(self, line: Line, probe: Told) -> None:
        run, [job] = await begun(line)
        name = unit_of(job["args"])
        taken = await line.services.work.take(name, job_id=job["id"])
        assert taken is not None
        await line.do({**job, "id": job["id"] + 1000})
        assert probe.works == []
        assert (await line.statuses(run))["look"] == "running"

    async def test_whoever_was_taken_for_dead_changes_nothing(
        self, line: Line, probe: Told
    ) -> None:
        run, [job] = await begun(line)
        work, name = line.services.work, unit_of(job["args"])
        first = await work.take(name, job_id=job["id"])
        # The same job again: its worker has died, as far as anybody knows.
        second = await work.take(name, job_id=job["id"])
        assert first is not None
        assert second is not None
        assert (first.taken.attempt, second.taken.attempt) == (1, 1)
        assert not await work.succeed(first.taken, Output({"by": "zombie"}))
        assert await work.succeed(second.taken, Output({"by": "heir"}))
        assert not await work.succeed(second.taken, Output({"by": "twice"}))
        page = await line.get(f"pipeline-runs/{run['id']}/outputs/look")
        assert [each["output"]["metadata"] for each in page["outputs"]] == [{"by": "heir"}]
        assert len(await line.jobs()) == 1

    async def test_a_zombies_failure_does_not_count(self, line: Line, probe: Told) -> None:
        run, [job] = await begun(line)
        name = unit_of(job["args"])
        first = await line.services.work.take(name, job_id=job["id"])
        assert first is not None
        probe.answers = [Output({"ok": 1})]
        await line.do(job)
        failure = Failure("x", "y")
        assert not await line.services.work.fail(first.taken, failure, is_retryable=False)
        assert (await line.statuses(run))["look"] == "succeeded"

    async def test_poison_fails_after_some_workers(self, line: Line) -> None:
        run, [job] = await begun(line)
        name = unit_of(job["args"])
        for _ in range(MAX_TAKES):
            assert await line.services.work.take(name, job_id=job["id"])
        assert await line.services.work.take(name, job_id=job["id"]) is None
        shown = await line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "step_kills_workers")

    async def test_results_after_a_stop_are_refused(self, line: Line, probe: Told) -> None:
        run, [job] = await begun(line)
        taken = await line.services.work.take(unit_of(job["args"]), job_id=job["id"])
        assert taken is not None
        await line.made(f"pipeline-runs/{run['id']}/cancel")
        assert not await line.services.work.succeed(taken.taken, Output({"late": 1}))
        assert (await line.get(f"pipeline-runs/{run['id']}/outputs/look"))["outputs"] == []


class TestFailures:
    async def test_three_attempts_with_longer_and_longer_delays(
        self, line: Line, probe: Told
    ) -> None:
        probe.answers = [Unavailable("not now") for _ in range(3)]
        run, [job] = await begun(line)
        await line.do(job)
        for number, delay_s in ((1, 10), (2, 20)):
            look = (await line.shown(run))["steps"][0]
            assert (look["status"], look["attempt"]) == ("ready", number)
            assert look["error"] == {"code": "unavailable", "message": "not now"}
            line.clock.advance(timedelta(seconds=delay_s - 1))
            await line.tick()
            assert await line.jobs() == []
            line.clock.advance(timedelta(seconds=1))
            await line.tick()
            await line.tick()
            assert await line.work() == 1
        shown = await line.shown(run)
        assert shown["status"] == "failed"
        error = {"code": "unavailable", "message": "not now", "step_key": "look"}
        assert shown["error"] == error
        assert [each["status"] for each in shown["steps"]] == ["failed", "skipped"]
        assert [each.attempt for each in probe.works] == [1, 2, 3]

        shown = await line.made(f"pipeline-runs/{run['id']}/retry")
        assert shown["error"] is None
        assert shown["steps"][0]["error"] is None
        probe.answers = [Unavailable("not now")]
        assert await line.work() == 1
        # Attempts go on counting, and there are three more.
        assert (await line.shown(run))["steps"][0]["status"] == "ready"
        line.clock.advance(timedelta(seconds=10))
        await line.tick()
        await line.work()
        shown = await line.shown(run)
        assert shown["status"] == "succeeded"
        assert [each["attempt"] for each in shown["steps"]] == [5, 1]

    @pytest.mark.parametrize(
        ("error", "code", "status"),
        [
            (UnreadableMedia("no pictures"), "decode_failed", "failed"),
            (ConfinedKilled("too much memory"), "decoder_killed", "ready"),
            (FileExpired("gone"), "file_expired", "failed"),
        ],
    )
    async def test_what_is_worth_another_attempt(
        self, line: Line, probe: Told, error: Exception, code: str, status: str
    ) -> None:
        probe.answers = [error]
        run, jobs = await begun(line)
        await line.do(jobs[0])
        look = (await line.shown(run))["steps"][0]
        assert (look["status"], look["error"]["code"]) == (status, code)

    async def test_what_runs_beside_a_failure_may_end(self, line: Line, probe: Told) -> None:
        definition = {
            "steps": {"bad": step("probe"), "good": step("publish"), "later": step("probe", "good")}
        }
        run, jobs = await begun(line, definition)
        by_step = {job["args"]["step_key"]: job for job in jobs}
        good = await line.services.work.take(
            unit_of(by_step["good"]["args"]), job_id=by_step["good"]["id"]
        )
        assert good is not None
        probe.answers = [UnreadableMedia("no")]
        await line.do(by_step["bad"])
        assert (await line.statuses(run))[""] == "running"
        assert await line.services.work.succeed(good.taken, Output({"kept": 1}))
        assert await line.statuses(run) == {
            "": "failed",
            "bad": "failed",
            "good": "succeeded",
            "later": "cancelled",
        }
        await line.made(f"pipeline-runs/{run['id']}/retry")
        assert sorted(job["args"]["step_key"] for job in await line.jobs()) == ["bad", "later"]

    async def test_too_much_output(self, line: Line, probe: Told) -> None:
        probe.answers = [Output({"x": "y" * MAX_OUTPUT_BYTES})]
        run, jobs = await begun(line)
        await line.do(jobs[0])
        assert (await line.shown(run))["error"]["code"] == "invalid_output"

    async def test_a_type_without_a_runner(self, line: Line) -> None:
        run, jobs = await begun(line, {"steps": {"hear": step("transcribe")}})
        await line.do(jobs[0])
        assert (await line.shown(run))["error"]["code"] == "step_type_unavailable"


class TestWaiting:
    async def test_the_same_attempt_is_asked_again(self, line: Line, probe: Told) -> None:
        run, [job] = await begun(line)
        name, work = unit_of(job["args"]), line.services.work
        taken = await work.take(name, job_id=job["id"])
        assert taken is not None
        await work.remember(taken.taken, {"render_id": "r"})
        await work.wait(taken.taken, after_s=2)
        assert (await line.statuses(run))["look"] == "running"
        await line.tick()
        assert await line.jobs() == []
        line.clock.advance(timedelta(seconds=2))
        await line.tick()
        probe.answers = [Waiting(1.0)]
        assert await line.work() == 1
        line.clock.advance(timedelta(seconds=1))
        await line.tick()
        probe.answers = [Output({"made": 1})]
        await line.work()
        assert [each.note for each in probe.works] == [{"render_id": "r"}] * 2
        assert {each.attempt for each in probe.works} == {1}
        assert (await line.statuses(run))["look"] == "succeeded"

    async def test_a_database_that_was_away_costs_no_attempt(self, line: Line, probe: Told) -> None:
        # Not even many of them: a storm may have more than there are attempts.
        outages = 5
        probe.answers = [DatabaseUnavailable("away") for _ in range(outages)]
        run, [job] = await begun(line)
        name = unit_of(job["args"])
        taken = await line.services.work.take(name, job_id=job["id"])
        assert taken is not None
        await line.services.work.remember(taken.taken, {"render_id": "r"})
        await line.do(job)
        for _ in range(outages):
            look = (await line.shown(run))["steps"][0]
            assert (look["status"], look["attempt"], look["error"]) == ("running", 1, None)
            line.clock.advance(timedelta(seconds=5))
            await line.tick()
            # Units of other tests may have become due as well.
            [job] = [each for each in await line.jobs() if unit_of(each["args"]) == name]
            await line.do(job)
        # With its note, or there would be a second render.
        assert [each.note for each in probe.works] == [{"render_id": "r"}] * (outages + 1)
        assert (await line.statuses(run))["look"] == "succeeded"

    async def test_progress_is_shown(self, line: Line) -> None:
        run, [job] = await begun(line)
        taken = await line.services.work.take(unit_of(job["args"]), job_id=job["id"])
        assert taken is not None
        await line.services.work.report(taken.taken, done_ms=1500)
        assert (await line.shown(run))["steps"][0]["watermark_ms"] == 1500

    async def test_a_whole_file_step_that_succeeded_is_done_to_the_end_of_the_file(
        self, line: Line
    ) -> None:
        definition = {"steps": {"look": step("probe"), "keep": keep("done"), "drop": keep("x")}}
        run, [job] = await begun(line, definition)
        taken = await line.services.work.take(unit_of(job["args"]), job_id=job["id"])
        assert taken is not None
        await line.services.work.report(taken.taken, done_ms=1500)
        assert await line.services.work.succeed(taken.taken, Output({"done": 1}))
        steps = {each["step_key"]: each for each in (await line.shown(run))["steps"]}
        assert {key: each["watermark_ms"] for key, each in steps.items()} == {
            "look": 2000,
            "keep": 2000,
            "drop": None,
        }


class TestFilters:
    async def test_both_branches(self, line: Line, probe: Told) -> None:
        definition = {
            "steps": {
                "look": step("probe"),
                "yes": keep("face"),
                "no": keep("face", negated=True),
                "blur": step("publish", "yes"),
                "pass": step("publish", "no"),
                "either": step("publish", "blur", "pass"),
            }
        }
        probe.answers = [Output({"face": 1})]
        run, jobs = await begun(line, definition)
        await line.do(jobs[0])
        assert [job["args"]["step_key"] for job in await line.jobs()] == ["blur"]
        statuses = await line.statuses(run)
        assert (statuses["yes"], statuses["no"]) == ("succeeded", "skipped")
        assert (statuses["pass"], statuses["either"]) == ("skipped", "skipped")
        shown = {each["step_key"]: each for each in (await line.shown(run))["steps"]}
        assert shown["yes"]["attempt"] == 1
        assert shown["yes"]["completed_at"]

    async def test_filters_after_filters_decide_at_once(self, line: Line, probe: Told) -> None:
        first = step("filter", "look", when={"path": "look.metadata.n", "op": "gt", "value": 1})
        second = {**first, "needs": ["first"]}
        definition = {"steps": {"look": step("probe"), "first": first, "second": second}}
        probe.answers = [Output({"n": 2})]
        run, jobs = await begun(line, definition)
        await line.do(jobs[0])
        assert (await line.statuses(run))[""] == "succeeded"


class TestEndpoints:
    async def test_attempts_wait_for_their_turn(self, line: Line) -> None:
        endpoint = await line.made("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        settings = {"endpoint_id": endpoint["id"], "max_concurrency": 3}
        run, jobs = await begun(line, {"steps": {"ask": step("endpoint", with_=settings)}})
        assert jobs == []
        ask = run["steps"][0]
        assert ask["status"] == "ready"
        [row] = await line.run_sql("SELECT * FROM pipeline_attempt WHERE run_id = %s", run["id"])
        assert (row["state"], row["number"]) == ("sending", 1)
        assert (row["step_max_concurrency"], row["step_key"]) == (3, "ask")
        assert row["idempotency_key"] == f"{ask['id']}_1"
        await line.made(f"pipeline-runs/{run['id']}/cancel")
        [row] = await line.run_sql("SELECT * FROM pipeline_attempt WHERE run_id = %s", run["id"])
        assert row["state"] == "done"

    async def test_an_archived_endpoint_fails_the_run(self, line: Line) -> None:
        endpoint = await line.made("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        pipeline = await line.pipeline(
            {"steps": {"ask": step("endpoint", with_={"endpoint_id": endpoint["id"]})}}
        )
        await line.made(f"pipeline-endpoints/{endpoint['id']}/archive")
        run = await line.run(pipeline)
        assert run["status"] == "failed"
        assert (run["error"]["code"], run["error"]["step_key"]) == ("endpoint_not_found", "ask")

    @pytest.mark.spec("3.3", "7")
    @pytest.mark.parametrize("granularity", ["file", "segment"])
    async def test_a_run_with_an_archived_endpoint_fails_before_anything_starts(
        self, line: Line, granularity: str
    ) -> None:
        endpoint = await line.made("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        windows = {"mode": granularity} | ({"window_ms": 1000} if granularity == "segment" else {})
        asks = step("endpoint", "never", with_={"endpoint_id": endpoint["id"]}, granularity=windows)
        steps = {"look": step("probe"), "never": keep("nothing"), "ask": asks}
        pipeline = await line.pipeline({"steps": steps})
        waiting = await line.run(pipeline, await line.file(status="uploading"))
        assert waiting["status"] == "pending"
        await line.made(f"pipeline-endpoints/{endpoint['id']}/archive")
        run, ended = await line.run(pipeline), {"": "failed", "look": "cancelled"}
        assert await line.statuses(run) == {**ended, "never": "cancelled", "ask": "failed"}
        assert run["error"]["code"] == "endpoint_not_found"
        assert await line.jobs() == []
        # One that waits for its file has not begun, either.
        await line.services.advance.advance(RunId(UUID(waiting["id"])))
        assert (await line.shown(waiting))["error"] == run["error"]
        again = await line.made(f"pipeline-runs/{run['id']}/retry")
        assert (again["status"], again["error"]) == ("failed", run["error"])

    async def test_an_endpoint_archived_since_keeps_what_succeeded(self, line: Line) -> None:
        endpoint = await line.made("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        asks = step("endpoint", "look", with_={"endpoint_id": endpoint["id"]})
        run, [job] = await begun(line, {"steps": {"look": step("probe"), "ask": asks}})
        await line.made(f"pipeline-endpoints/{endpoint['id']}/archive")
        await line.do(job)
        ended = {"": "failed", "look": "succeeded", "ask": "failed"}
        assert await line.statuses(run) == ended
        await line.made(f"pipeline-runs/{run['id']}/retry")
        assert await line.statuses(run) == ended


class TestEvents:
    async def test_all_that_happens_is_told_in_order(self, line: Line, probe: Told) -> None:
        key = await line.kiln.services.identity.authenticate(line.kiln.key)
        await line.kiln.services.webhooks.create(
            NewSubscription(
                key.organization.id,
                key.api_key_id,
                "http://127.0.0.1:9/",
                ("pipeline_run.*", "pipeline_step.*", "pipeline_review.*", "pipeline_batch.*"),
            )
        )
        definition = {
            "steps": {
                "look": step("probe"),
                "check": step("review", "look"),
                "out": step("publish", "check"),
            }
        }
        probe.answers = [Unavailable("not now")]
        body = {
            "pipeline_id": await line.pipeline(definition),
            "runs": [{"file_id": await line.file()}],
        }
        batch = (await line.made("pipeline-batches", body))["batch"]
        await line.tick()
        await line.work()
        line.clock.advance(timedelta(seconds=10))
        await line.tick()
        await line.work()
        [run] = (await line.get("pipeline-runs", batch_id=batch["id"]))["runs"]
        [task] = (await line.get("pipeline-reviews", run_id=run["id"]))["reviews"]
        await line.made(f"pipeline-reviews/{task['id']}/approve")
        await line.work()
        await line.tick()
        told = await self.told(line, run["id"])
        assert [topic for topic, _ in told] == [
            "pipeline_run.created",
            "pipeline_run.started",
            "pipeline_step.started",
            "pipeline_step.retrying",
            "pipeline_step.started",
            "pipeline_step.completed",
            "pipeline_step.waiting_review",
            "pipeline_review.decided",
            "pipeline_step.completed",
            "pipeline_step.started",
            "pipeline_step.completed",
            "pipeline_run.completed",
        ]
        assert [data["sequence"] for _, data in told] == list(range(1, len(told) + 1))
        assert told[6][1]["review_task_id"] == task["id"]
        # As it was then, and not as it was when everything had been written.
        assert [data["status"] for _, data in told[:2]] == ["pending", "running"]
        assert told[5][1]["watermark_ms"] == 2000
        batches = await self.told(line, batch["id"])
        assert [topic for topic, _ in batches] == [
            "pipeline_batch.created",
            "pipeline_batch.completed",
        ]
        assert batches[1][1]["runs"]["succeeded"] == 1
        for topic, data in told + batches:
            assert set(data) == set(TOPICS[topic].sample), topic

    async def told(self, line: Line, resource: str) -> list[tuple[str, Any]]:
        rows = await line.run_sql(
            """
            SELECT topic, body::json -> 'data' AS data FROM webhook_event event
            JOIN webhook_delivery delivery ON event_id = event.id
            WHERE event.resource_id = %s ORDER BY delivery.position
            """,
            resource,
        )
        return [(row["topic"], row["data"]) for row in rows]


async def test_an_unknown_run_is_let_be(line: Line) -> None:
    await line.services.advance.advance(RunId(uuid4()))
