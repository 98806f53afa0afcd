"""The schedule of a control worker: a part that fails stops neither the others nor the worker."""

import asyncio
from contextlib import suppress
from typing import Any

from structlog.testing import capture_logs

from framekiln.worker.schedule import remove_expired, run_schedule
from tests.support.app import AppHarness
from tests.support.failing_tables import failing_table
from tests.support.jobs import wait_until
from tests.support.uploads import blob_names, upload_file

CAPTION = b"WEBVTT\n\n00:00.000 --> 00:01.000\n%s\n"
DEADLOCK = {"on": "DELETE", "condition": "deadlock_detected"}


async def expired_file(app: AppHarness, text: bytes, *, since: str) -> str:
    """Upload a file that has expired."""
    file_id = str((await upload_file(app, CAPTION % text, type="caption"))["id"])
    async with app.services.database.connection() as connection:
        await connection.execute(
            "UPDATE file SET expires_at = now() - %s::interval WHERE id = %s", (since, file_id)
        )
    return file_id


def failed_parts(lines: list[Any]) -> list[str]:
    return [line["part"] for line in lines if line["event"] == "schedule.part_failed"]


async def test_a_file_that_cannot_be_deleted_keeps_no_other(app: AppHarness) -> None:
    stuck = await expired_file(app, b"stuck", since="2 hours")
    other = await expired_file(app, b"other", since="1 hour")
    blobs = app.services.settings.data / "blobs"
    folder = next(blobs.rglob(f"{stuck}/source")).parent
    loop = folder / "loop"
    loop.symlink_to(loop)
    with capture_logs() as lines:
        assert await app.services.files.remove_expired() == 2
    assert "storage.deletion_failed" in {line["event"] for line in lines}
    assert blob_names(app, other) == set()
    loop.unlink()
    await app.services.blob_deletions.run_all()
    assert blob_names(app, stuck) == set()


async def test_a_part_that_fails_does_not_keep_later_parts(app: AppHarness) -> None:
    file_id = await expired_file(app, b"later", since="1 hour")
    async with failing_table(app.services.database, "render", **DEADLOCK):
        with capture_logs() as lines:
            await remove_expired(app.services)
    assert failed_parts(lines) == ["renders"]
    assert blob_names(app, file_id) == set()


async def test_a_deadlock_does_not_end_the_schedule(app: AppHarness) -> None:
    with capture_logs() as lines:

        async def has_failed_again() -> bool:
            assert not task.done(), task.exception()
            return failed_parts(lines).count("jobs") > 1

        async with failing_table(app.services.database, "procrastinate_workers", **DEADLOCK):
            task = asyncio.create_task(run_schedule(app.services))
            try:
                await wait_until(has_failed_again)
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
    assert set(failed_parts(lines)) == {"jobs"}
