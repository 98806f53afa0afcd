"""Runs over a real database: results, failures, lost workers, files that come and go, events."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from framekiln.db.pool import DatabaseUnavailable
from framekiln.files.errors import FileExpired
from framekiln.jobs.failures import Failure
from framekiln.jobs.model import JobContext
from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.errors import Unavailable
from framekiln.media.errors import UnreadableMedia
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_type import RetryLater, Runners, StepWork
from framekiln.pipelines.execution.unit_transitions import MAX_TAKES
from framekiln.pipelines.jobs import unit_key_of
from framekiln.pipelines.model.pipeline import RunId
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES, StepOutput
from tests.support.jobs import wait_until
from tests.support.pipelines import PipelineHarness, ScriptedRunner, step

TWO = {"steps": {"look": step("probe"), "out": step("publish", "look")}}


@pytest.fixture(autouse=True)
async def _empty_queue(pipelines: PipelineHarness) -> None:
    await pipelines.clear()


async def start_run_and_take_jobs(
    pipelines: PipelineHarness, definition: Any = TWO
) -> tuple[Any, list[dict[str, Any]]]:
    """Return a run and its first jobs."""
    run = await pipelines.start_run(await pipelines.create_pipeline(definition))
    return run, await pipelines.take_jobs()


def keep(key: str, *, negated: bool = False) -> dict[str, Any]:
    """Return a filter that looks whether the probe found `key`."""
    leaf = {"path": f"look.metadata.{key}", "op": "exists"}
    return step("filter", "look", when={"not": leaf} if negated else leaf)


class ReportingRunner:
    """A runner that reports once and never ends."""

    async def run(self, work: StepWork) -> StepOutput:
        work.progress(1500)
        return await asyncio.Future[StepOutput]()


class TestConcurrency:
    async def test_two_results_at_once_start_the_next_step_once(
        self, pipelines: PipelineHarness
    ) -> None:
        definition = {
            "steps": {
                "a": step("probe"),
                "b": step("probe"),
                "both": step("publish", "a", "b"),
            }
        }
        run, jobs = await start_run_and_take_jobs(pipelines, definition)
        assert len(jobs) == 2
        await asyncio.gather(*(pipelines.run_job(job) for job in jobs))
        following = await pipelines.take_jobs()
        assert [job["args"]["step_key"] for job in following] == ["both"]
        await pipelines.run_job(following[0])
        assert (await pipelines.statuses(run))[""] == "succeeded"

    async def test_concurrent_advances_start_each_step_once(
        self, pipelines: PipelineHarness
    ) -> None:
        run, jobs = await start_run_and_take_jobs(pipelines)
        run_id = RunId(unit_key_of(jobs[0]["args"]).run_id)
        await asyncio.gather(*(pipelines.services.coordinator.advance(run_id) for _ in range(5)))
        assert await pipelines.take_jobs() == []
        assert (await pipelines.statuses(run))["look"] == "ready"


class TestLostWorkers:
    async def test_a_second_job_of_a_taken_step_does_nothing(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        run, [job] = await start_run_and_take_jobs(pipelines)
        name = unit_key_of(job["args"])
        taken = await pipelines.services.worker.take(name, job_id=job["id"])
        assert taken is not None
        await pipelines.run_job({**job, "id": job["id"] + 1000})
        assert probe.calls == []
        assert (await pipelines.statuses(run))["look"] == "running"

    async def test_a_worker_presumed_dead_changes_nothing(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        run, [job] = await start_run_and_take_jobs(pipelines)
        work, name = pipelines.services.worker, unit_key_of(job["args"])
        first = await work.take(name, job_id=job["id"])
        # The same job again: its worker has died, as far as anybody knows.
        second = await work.take(name, job_id=job["id"])
        assert first is not None
        assert second is not None
        assert (first.taken.attempt, second.taken.attempt) == (1, 1)
        assert not await work.succeed(first.taken, StepOutput({"by": "zombie"}))
        assert await work.succeed(second.taken, StepOutput({"by": "heir"}))
        assert not await work.succeed(second.taken, StepOutput({"by": "twice"}))
        page = await pipelines.get(f"pipeline-runs/{run['id']}/outputs/look")
        assert [each["output"]["metadata"] for each in page["outputs"]] == [{"by": "heir"}]
        assert len(await pipelines.take_jobs()) == 1

    async def test_a_failure_reported_after_a_takeover_is_ignored(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        run, [job] = await start_run_and_take_jobs(pipelines)
        name = unit_key_of(job["args"])
        first = await pipelines.services.worker.take(name, job_id=job["id"])
        assert first is not None
        probe.results = [StepOutput({"ok": 1})]
        await pipelines.run_job(job)
        failure = Failure("x", "y")
        assert not await pipelines.services.worker.fail(first.taken, failure, is_retryable=False)
        assert (await pipelines.statuses(run))["look"] == "succeeded"

    async def test_a_step_that_kills_workers_fails(self, pipelines: PipelineHarness) -> None:
        run, [job] = await start_run_and_take_jobs(pipelines)
        name = unit_key_of(job["args"])
        for _ in range(MAX_TAKES):
            assert await pipelines.services.worker.take(name, job_id=job["id"])
        assert await pipelines.services.worker.take(name, job_id=job["id"]) is None
        shown = await pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "step_kills_workers")

    async def test_results_after_cancellation_are_refused(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        run, [job] = await start_run_and_take_jobs(pipelines)
        taken = await pipelines.services.worker.take(unit_key_of(job["args"]), job_id=job["id"])
        assert taken is not None
        await pipelines.create(f"pipeline-runs/{run['id']}/cancel")
        assert not await pipelines.services.worker.succeed(taken.taken, StepOutput({"late": 1}))
        assert (await pipelines.get(f"pipeline-runs/{run['id']}/outputs/look"))["outputs"] == []


class TestFailures:
    async def test_three_attempts_with_longer_and_longer_delays(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        probe.results = [Unavailable("not now") for _ in range(3)]
        run, [job] = await start_run_and_take_jobs(pipelines)
        await pipelines.run_job(job)
        for number, delay_s in ((1, 10), (2, 20)):
            look = (await pipelines.get_run(run))["steps"][0]
            assert (look["status"], look["attempt"]) == ("ready", number)
            assert look["error"] == {"code": "unavailable", "message": "not now"}
            pipelines.clock.advance(timedelta(seconds=delay_s - 1))
            await pipelines.tick()
            assert await pipelines.take_jobs() == []
            pipelines.clock.advance(timedelta(seconds=1))
            await pipelines.tick()
            await pipelines.tick()
            assert await pipelines.run_all_jobs() == 1
        shown = await pipelines.get_run(run)
        assert shown["status"] == "failed"
        error = {"code": "unavailable", "message": "not now", "step_key": "look"}
        assert shown["error"] == error
        assert [each["status"] for each in shown["steps"]] == ["failed", "skipped"]
        assert [each.taken.attempt for each in probe.calls] == [1, 2, 3]

        shown = await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        assert shown["error"] is None
        assert shown["steps"][0]["error"] is None
        probe.results = [Unavailable("not now")]
        assert await pipelines.run_all_jobs() == 1
        # Attempts go on counting, and there are three more.
        assert (await pipelines.get_run(run))["steps"][0]["status"] == "ready"
        pipelines.clock.advance(timedelta(seconds=10))
        await pipelines.tick()
        await pipelines.run_all_jobs()
        shown = await pipelines.get_run(run)
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
    async def test_only_retryable_errors_get_another_attempt(
        self,
        pipelines: PipelineHarness,
        probe: ScriptedRunner,
        error: Exception,
        code: str,
        status: str,
    ) -> None:
        probe.results = [error]
        run, jobs = await start_run_and_take_jobs(pipelines)
        await pipelines.run_job(jobs[0])
        look = (await pipelines.get_run(run))["steps"][0]
        assert (look["status"], look["error"]["code"]) == (status, code)

    async def test_running_steps_finish_after_another_step_failed(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        definition = {
            "steps": {"bad": step("probe"), "good": step("publish"), "later": step("probe", "good")}
        }
        run, jobs = await start_run_and_take_jobs(pipelines, definition)
        by_step = {job["args"]["step_key"]: job for job in jobs}
        good = await pipelines.services.worker.take(
            unit_key_of(by_step["good"]["args"]), job_id=by_step["good"]["id"]
        )
        assert good is not None
        probe.results = [UnreadableMedia("no")]
        await pipelines.run_job(by_step["bad"])
        assert (await pipelines.statuses(run))[""] == "running"
        assert await pipelines.services.worker.succeed(good.taken, StepOutput({"kept": 1}))
        assert await pipelines.statuses(run) == {
            "": "failed",
            "bad": "failed",
            "good": "succeeded",
            "later": "cancelled",
        }
        await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        assert sorted(job["args"]["step_key"] for job in await pipelines.take_jobs()) == [
            "bad",
            "later",
        ]

    async def test_an_output_over_the_limit_fails_the_step(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        probe.results = [StepOutput({"x": "y" * MAX_OUTPUT_BYTES})]
        run, jobs = await start_run_and_take_jobs(pipelines)
        await pipelines.run_job(jobs[0])
        assert (await pipelines.get_run(run))["error"]["code"] == "invalid_output"

    async def test_a_step_type_without_a_runner_fails_the_run(
        self, pipelines: PipelineHarness
    ) -> None:
        run, jobs = await start_run_and_take_jobs(
            pipelines, {"steps": {"hear": step("transcribe")}}
        )
        await pipelines.run_job(jobs[0])
        assert (await pipelines.get_run(run))["error"]["code"] == "step_type_unavailable"


class TestWaitingAttempts:
    async def test_a_waiting_attempt_is_resumed_with_its_note(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        run, [job] = await start_run_and_take_jobs(pipelines)
        name, work = unit_key_of(job["args"]), pipelines.services.worker
        taken = await work.take(name, job_id=job["id"])
        assert taken is not None
        await work.save_note(taken.taken, {"render_id": "r"})
        await work.postpone(taken.taken, after_s=2)
        assert (await pipelines.statuses(run))["look"] == "running"
        await pipelines.tick()
        assert await pipelines.take_jobs() == []
        pipelines.clock.advance(timedelta(seconds=2))
        await pipelines.tick()
        probe.results = [RetryLater(1.0)]
        assert await pipelines.run_all_jobs() == 1
        pipelines.clock.advance(timedelta(seconds=1))
        await pipelines.tick()
        probe.results = [StepOutput({"made": 1})]
        await pipelines.run_all_jobs()
        assert [each.note for each in probe.calls] == [{"render_id": "r"}] * 2
        assert {each.taken.attempt for each in probe.calls} == {1}
        assert (await pipelines.statuses(run))["look"] == "succeeded"

    async def test_a_database_outage_costs_no_attempt(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        # Not even many of them: a storm may have more than there are attempts.
        outages = 5
        probe.results = [DatabaseUnavailable("away") for _ in range(outages)]
        run, [job] = await start_run_and_take_jobs(pipelines)
        name = unit_key_of(job["args"])
        taken = await pipelines.services.worker.take(name, job_id=job["id"])
        assert taken is not None
        await pipelines.services.worker.save_note(taken.taken, {"render_id": "r"})
        await pipelines.run_job(job)
        for _ in range(outages):
            look = (await pipelines.get_run(run))["steps"][0]
            assert (look["status"], look["attempt"], look["error"]) == ("running", 1, None)
            pipelines.clock.advance(timedelta(seconds=5))
            await pipelines.tick()
            # Units of other tests may have become due as well.
            [job] = [
                each for each in await pipelines.take_jobs() if unit_key_of(each["args"]) == name
            ]
            await pipelines.run_job(job)
        # With its note, or there would be a second render.
        assert [each.note for each in probe.calls] == [{"render_id": "r"}] * (outages + 1)
        assert (await pipelines.statuses(run))["look"] == "succeeded"

    async def test_progress_is_shown_although_no_other_follows(
        self, pipelines: PipelineHarness
    ) -> None:
        run, [job] = await start_run_and_take_jobs(pipelines)
        runners: Runners = {"probe": ReportingRunner()}
        handler = RunStep(pipelines.services.worker, runners, report_interval_s=0.01)
        context = JobContext(job["id"], "pipeline.step", job["args"], attempt=1)
        task = asyncio.create_task(handler(context))

        async def is_shown() -> bool:
            return bool((await pipelines.get_run(run))["steps"][0]["watermark_ms"] == 1500)

        try:
            await wait_until(is_shown)
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def test_a_whole_file_step_that_succeeded_is_done_to_the_end_of_the_file(
        self, pipelines: PipelineHarness
    ) -> None:
        definition = {"steps": {"look": step("probe"), "keep": keep("done"), "drop": keep("x")}}
        run, [job] = await start_run_and_take_jobs(pipelines, definition)
        taken = await pipelines.services.worker.take(unit_key_of(job["args"]), job_id=job["id"])
        assert taken is not None
        await pipelines.services.worker.report_progress(taken.taken, done_ms=1500)
        assert await pipelines.services.worker.succeed(taken.taken, StepOutput({"done": 1}))
        steps = {each["step_key"]: each for each in (await pipelines.get_run(run))["steps"]}
        assert {key: each["watermark_ms"] for key, each in steps.items()} == {
            "look": 2000,
            "keep": 2000,
            "drop": None,
        }


class TestFilters:
    async def test_complementary_filters_run_one_branch_each(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
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
        probe.results = [StepOutput({"face": 1})]
        run, jobs = await start_run_and_take_jobs(pipelines, definition)
        await pipelines.run_job(jobs[0])
        assert [job["args"]["step_key"] for job in await pipelines.take_jobs()] == ["blur"]
        statuses = await pipelines.statuses(run)
        assert (statuses["yes"], statuses["no"]) == ("succeeded", "skipped")
        assert (statuses["pass"], statuses["either"]) == ("skipped", "skipped")
        shown = {each["step_key"]: each for each in (await pipelines.get_run(run))["steps"]}
        assert shown["yes"]["attempt"] == 1
        assert shown["yes"]["completed_at"]

    async def test_consecutive_filters_are_evaluated_at_once(
        self, pipelines: PipelineHarness, probe: ScriptedRunner
    ) -> None:
        first = step("filter", "look", when={"path": "look.metadata.n", "op": "gt", "value": 1})
        second = {**first, "needs": ["first"]}
        definition = {"steps": {"look": step("probe"), "first": first, "second": second}}
        probe.results = [StepOutput({"n": 2})]
        run, jobs = await start_run_and_take_jobs(pipelines, definition)
        await pipelines.run_job(jobs[0])
        assert (await pipelines.statuses(run))[""] == "succeeded"


class TestEndpoints:
    async def test_attempts_wait_for_their_turn(self, pipelines: PipelineHarness) -> None:
        endpoint = await pipelines.create("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        settings = {"endpoint_id": endpoint["id"], "max_concurrency": 3}
        run, jobs = await start_run_and_take_jobs(
            pipelines, {"steps": {"ask": step("endpoint", with_=settings)}}
        )
        assert jobs == []
        ask = run["steps"][0]
        assert ask["status"] == "ready"
        [row] = await pipelines.run_sql(
            "SELECT * FROM pipeline_attempt WHERE run_id = %s", run["id"]
        )
        assert (row["state"], row["number"]) == ("sending", 1)
        assert (row["step_max_concurrency"], row["step_key"]) == (3, "ask")
        assert row["idempotency_key"] == f"{ask['id']}_1"
        await pipelines.create(f"pipeline-runs/{run['id']}/cancel")
        [row] = await pipelines.run_sql(
            "SELECT * FROM pipeline_attempt WHERE run_id = %s", run["id"]
        )
        assert row["state"] == "done"

    async def test_an_archived_endpoint_fails_the_run(self, pipelines: PipelineHarness) -> None:
        endpoint = await pipelines.create("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        pipeline = await pipelines.create_pipeline(
            {"steps": {"ask": step("endpoint", with_={"endpoint_id": endpoint["id"]})}}
        )
        await pipelines.create(f"pipeline-endpoints/{endpoint['id']}/archive")
        run = await pipelines.start_run(pipeline)
        assert run["status"] == "failed"
        assert (run["error"]["code"], run["error"]["step_key"]) == ("endpoint_not_found", "ask")

    @pytest.mark.spec("3.3", "7")
    @pytest.mark.parametrize("granularity", ["file", "segment"])
    async def test_a_run_with_an_archived_endpoint_fails_before_anything_starts(
        self, pipelines: PipelineHarness, granularity: str
    ) -> None:
        endpoint = await pipelines.create("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        windows = {"mode": granularity} | ({"window_ms": 1000} if granularity == "segment" else {})
        asks = step("endpoint", "never", with_={"endpoint_id": endpoint["id"]}, granularity=windows)
        steps = {"look": step("probe"), "never": keep("nothing"), "ask": asks}
        pipeline = await pipelines.create_pipeline({"steps": steps})
        waiting = await pipelines.start_run(pipeline, await pipelines.add_file(status="uploading"))
        assert waiting["status"] == "pending"
        await pipelines.create(f"pipeline-endpoints/{endpoint['id']}/archive")
        run, ended = await pipelines.start_run(pipeline), {"": "failed", "look": "cancelled"}
        assert await pipelines.statuses(run) == {**ended, "never": "cancelled", "ask": "failed"}
        assert run["error"]["code"] == "endpoint_not_found"
        assert await pipelines.take_jobs() == []
        # One that waits for its file has not begun, either.
        await pipelines.services.coordinator.advance(RunId(UUID(waiting["id"])))
        assert (await pipelines.get_run(waiting))["error"] == run["error"]
        again = await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        assert (again["status"], again["error"]) == ("failed", run["error"])

    async def test_archiving_an_endpoint_keeps_succeeded_steps(
        self, pipelines: PipelineHarness
    ) -> None:
        endpoint = await pipelines.create("pipeline-endpoints", {"url": "https://93.184.215.14/"})
        asks = step("endpoint", "look", with_={"endpoint_id": endpoint["id"]})
        run, [job] = await start_run_and_take_jobs(
            pipelines, {"steps": {"look": step("probe"), "ask": asks}}
        )
        await pipelines.create(f"pipeline-endpoints/{endpoint['id']}/archive")
        await pipelines.run_job(job)
        ended = {"": "failed", "look": "succeeded", "ask": "failed"}
        assert await pipelines.statuses(run) == ended
        await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        assert await pipelines.statuses(run) == ended


async def test_advancing_an_unknown_run_does_nothing(pipelines: PipelineHarness) -> None:
    await pipelines.services.coordinator.advance(RunId(uuid4()))
