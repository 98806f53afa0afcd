"""Runs follow what happens to their files, and what happened stays until somebody has looked."""

import asyncio

import pytest

from tests.support.pipelines import Line, step

TWO = {"steps": {"look": step("probe"), "out": step("publish", "look")}}


@pytest.fixture(autouse=True)
async def _nothing_left(line: Line) -> None:
    await line.jobs()
    await line.run_sql("DELETE FROM pipeline_change")


async def test_a_run_waits_for_its_file(line: Line) -> None:
    file = await line.file(status="uploading")
    run = await line.run(await line.pipeline(), file)
    assert run["status"] == "pending"
    assert await line.jobs() == []
    await line.set_file(file, "processing")
    await line.tick()
    assert (await line.statuses(run))[""] == "pending"
    await line.set_file(file, "ready")
    await line.tick()
    assert await line.work() == 1
    assert (await line.statuses(run))[""] == "succeeded"


async def test_a_file_that_fails(line: Line) -> None:
    file = await line.file(status="processing")
    run = await line.run(await line.pipeline(TWO), file)
    await line.set_file(file, "failed")
    await line.tick()
    shown = await line.shown(run)
    assert shown["status"] == "failed"
    assert shown["error"] == {
        "code": "file_failed",
        "message": "the file failed: bad",
        "step_key": None,
    }
    await line.set_file(file, "ready")
    await line.made(f"pipeline-runs/{run['id']}/retry")
    assert await line.work() == 2


async def test_a_file_that_is_deleted(line: Line) -> None:
    file = await line.file(status="processing")
    run = await line.run(await line.pipeline(), file)
    await line.run_sql("DELETE FROM file WHERE id = %s", file)
    await line.tick()
    shown = await line.shown(run)
    assert (shown["status"], shown["error"]["code"]) == ("failed", "file_failed")
    assert shown["file_id"] == file


async def test_a_run_created_while_its_file_becomes_ready(line: Line) -> None:
    pipeline, file = await line.pipeline(), await line.file(status="processing")
    async with line.kiln.services.database.transaction() as connection:
        # The file tells the runs that there are: none so far.
        await connection.execute("UPDATE file SET status = 'ready' WHERE id = %s", (file,))
        creating = asyncio.create_task(line.run(pipeline, file))
        await asyncio.wait([creating], timeout=0.3)
    await creating
    await line.tick()
    assert await line.work() == 1


async def test_changes_of_files_without_runs_leave_nothing(line: Line) -> None:
    file = await line.file(status="processing")
    await line.set_file(file, "ready")
    assert await line.run_sql("SELECT * FROM pipeline_change") == []


async def test_a_change_that_could_not_be_followed_is_kept_and_holds_nobody_up(line: Line) -> None:
    """It was forgotten, and the run it was about stood still for ever."""
    broken_file, file = await line.file(status="processing"), await line.file(status="processing")
    pipeline = await line.pipeline()
    broken, sound = await line.run(pipeline, broken_file), await line.run(pipeline, file)
    # A row that no code of ours can make sense of.
    rename = "UPDATE pipeline_step_run SET step_key = %s WHERE run_id = %s"
    await line.run_sql(rename, "nonsense", broken["id"])
    await line.set_file(broken_file, "ready")
    await line.set_file(file, "ready")
    await line.tick()
    assert await line.work() == 1
    assert (await line.statuses(sound))[""] == "succeeded"
    await line.run_sql(rename, "look", broken["id"])
    await line.tick()
    assert (await line.shown(broken))["status"] == "pending"
    await line.run_sql("UPDATE pipeline_change SET postponed_until = now()")
    await line.tick()
    assert await line.work() == 1
    assert (await line.statuses(broken))[""] == "succeeded"
