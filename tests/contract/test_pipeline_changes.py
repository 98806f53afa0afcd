"""Runs follow what happens to their files, and what happened stays until somebody has looked."""

import asyncio
from datetime import timedelta

import pytest

from framekiln.jobs.failures import Failure
from framekiln.pipelines.execution.step_type import RetryLater
from framekiln.pipelines.jobs import unit_key_of
from tests.support.jobs import wait_for_blocked
from tests.support.pipelines import PipelineHarness, ScriptedRunner, step

TWO = {"steps": {"look": step("probe"), "out": step("publish", "look")}}


@pytest.fixture(autouse=True)
async def _empty_queue(pipelines: PipelineHarness) -> None:
    await pipelines.clear()


async def test_a_run_waits_for_its_file(pipelines: PipelineHarness) -> None:
    file = await pipelines.add_file(status="uploading")
    run = await pipelines.start_run(await pipelines.create_pipeline(), file)
    assert run["status"] == "pending"
    assert await pipelines.take_jobs() == []
    await pipelines.set_file_status(file, "processing")
    await pipelines.tick()
    assert (await pipelines.statuses(run))[""] == "pending"
    await pipelines.set_file_status(file, "ready")
    await pipelines.tick()
    assert await pipelines.run_all_jobs() == 1
    assert (await pipelines.statuses(run))[""] == "succeeded"


async def test_a_failed_file_fails_its_waiting_run(pipelines: PipelineHarness) -> None:
    file = await pipelines.add_file(status="processing")
    run = await pipelines.start_run(await pipelines.create_pipeline(TWO), file)
    await pipelines.set_file_status(file, "failed")
    await pipelines.tick()
    shown = await pipelines.get_run(run)
    assert shown["status"] == "failed"
    assert shown["error"] == {
        "code": "file_failed",
        "message": "the file failed: bad",
        "step_key": None,
    }
    await pipelines.set_file_status(file, "ready")
    await pipelines.create(f"pipeline-runs/{run['id']}/retry")
    assert await pipelines.run_all_jobs() == 2


async def test_a_deleted_file_fails_its_waiting_run(pipelines: PipelineHarness) -> None:
    file = await pipelines.add_file(status="processing")
    run = await pipelines.start_run(await pipelines.create_pipeline(), file)
    await pipelines.run_sql("DELETE FROM file WHERE id = %s", file)
    await pipelines.tick()
    shown = await pipelines.get_run(run)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "file_failed")
    assert shown["file_id"] == file


async def test_a_file_deleted_while_a_step_waits_fails_its_run_and_its_batch_goes_on(
    pipelines: PipelineHarness, probe: ScriptedRunner
) -> None:
    deleted, next_file = await pipelines.add_file(), await pipelines.add_file()
    pipeline = await pipelines.create_pipeline()
    files = [{"file_id": deleted}, {"file_id": next_file}]
    body = {"pipeline_id": pipeline, "runs": files, "max_in_flight": 1}
    batch = (await pipelines.create("pipeline-batches", body))["batch"]
    runs = (await pipelines.get("pipeline-runs", batch_id=batch["id"]))["runs"]
    [broken] = [each for each in runs if each["file_id"] == deleted]
    [sound] = [each for each in runs if each["file_id"] == next_file]
    await pipelines.tick()
    probe.results = [RetryLater(1.0)]
    assert await pipelines.run_all_jobs() == 1
    await pipelines.run_sql("DELETE FROM file WHERE id = %s", deleted)
    await pipelines.tick()
    assert (await pipelines.statuses(broken))[""] == "running"
    pipelines.clock.advance(timedelta(seconds=1))
    await pipelines.tick()
    await pipelines.run_all_jobs()
    shown = await pipelines.get_run(broken)
    assert (shown["status"], shown["error"]) == (
        "failed",
        {"code": "file_failed", "message": "the file was deleted", "step_key": "look"},
    )
    await pipelines.tick()
    await pipelines.run_all_jobs()
    assert (await pipelines.statuses(sound))[""] == "succeeded"


async def test_an_error_after_its_file_was_deleted_is_the_deletion(
    pipelines: PipelineHarness,
) -> None:
    file = await pipelines.add_file()
    run = await pipelines.start_run(await pipelines.create_pipeline(), file)
    [job] = await pipelines.take_jobs()
    taken = await pipelines.services.worker.take(unit_key_of(job["args"]), job_id=job["id"])
    assert taken is not None
    await pipelines.run_sql("DELETE FROM file WHERE id = %s", file)
    lost = Failure("file_not_found", "no file")
    assert await pipelines.services.worker.fail(taken.taken, lost, is_retryable=False)
    shown = await pipelines.get_run(run)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "file_failed")


async def test_a_run_created_while_its_file_becomes_ready_starts(
    pipelines: PipelineHarness,
) -> None:
    pipeline, file = (
        await pipelines.create_pipeline(),
        await pipelines.add_file(status="processing"),
    )
    async with pipelines.app.services.database.transaction() as connection:
        # The file notifies all runs: none so far.
        await connection.execute("UPDATE file SET status = 'ready' WHERE id = %s", (file,))
        creating = asyncio.create_task(pipelines.start_run(pipeline, file))
        await wait_for_blocked(pipelines.app.services.database)
    await creating
    await pipelines.tick()
    assert await pipelines.run_all_jobs() == 1


async def test_changes_of_files_without_runs_leave_nothing(pipelines: PipelineHarness) -> None:
    file = await pipelines.add_file(status="processing")
    await pipelines.set_file_status(file, "ready")
    assert await pipelines.run_sql("SELECT * FROM pipeline_change") == []


async def test_a_change_that_fails_is_kept_and_does_not_block_others(
    pipelines: PipelineHarness,
) -> None:
    """It was forgotten, and the run it was about stood still for ever."""
    broken_file, file = (
        await pipelines.add_file(status="processing"),
        await pipelines.add_file(status="processing"),
    )
    pipeline = await pipelines.create_pipeline()
    broken, sound = (
        await pipelines.start_run(pipeline, broken_file),
        await pipelines.start_run(pipeline, file),
    )
    # A row that no code of ours can make sense of.
    rename = "UPDATE pipeline_step_run SET step_key = %s WHERE run_id = %s"
    await pipelines.run_sql(rename, "nonsense", broken["id"])
    await pipelines.set_file_status(broken_file, "ready")
    await pipelines.set_file_status(file, "ready")
    await pipelines.tick()
    assert await pipelines.run_all_jobs() == 1
    assert (await pipelines.statuses(sound))[""] == "succeeded"
    await pipelines.run_sql(rename, "look", broken["id"])
    await pipelines.tick()
    assert (await pipelines.get_run(broken))["status"] == "pending"
    await pipelines.run_sql("UPDATE pipeline_change SET postponed_until = now()")
    await pipelines.tick()
    assert await pipelines.run_all_jobs() == 1
    assert (await pipelines.statuses(broken))[""] == "succeeded"
