"""Renders cut into slices: the same film by one worker or several, whatever happens to them.

The films are pages of frame codes, so every decoded picture says which frame it is.
"""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from framekiln.kit.ids import RenderId
from framekiln.worker.loop import run_worker
from tests.support.app import AppHarness, running_workers
from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.jobs import wait_until
from tests.support.looks import decode_frames, measure_file

# A slice of a second, the shortest, has few frames then.
FPS = 12
ASKED = {"width": 320, "height": 180, "fps": FPS}


def declarative(frame_count: int) -> str:
    """A page any frame of which can be shown without those before it."""
    return frame_code_page(PageDriver.CSS, Fraction(FPS), frame_count=frame_count)


def counting(frame_count: int) -> str:
    """A page that only counts its frames: to show one, all before it must have been drawn."""
    page = frame_code_page(PageDriver.RAF_DOM, Fraction(FPS), frame_count=frame_count)
    counted = page.replace("show(frameAt(stampMs));", "show(drawn); drawn += 1;")
    assert counted != page
    return counted.replace("show(0);", "let drawn = 0;")


def film(
    frame_count: int, slice_ms: int, page: Callable[[int], str] = declarative
) -> dict[str, Any]:
    duration_ms = frame_count * 1000 // FPS
    html = page(frame_count)
    return {"html": html, **ASKED, "duration_ms": duration_ms, "work_slice_ms": slice_ms}


async def saved(app: AppHarness, info: dict[str, Any], path: Path) -> Path:
    await asyncio.to_thread(path.write_bytes, await app.output(info))
    return path


async def slices_of(app: AppHarness, render_id: str) -> list[dict[str, Any]]:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT * FROM render_slice WHERE render_id = %s ORDER BY number", (render_id,)
        )
        return await cursor.fetchall()


async def until_ready(app: AppHarness, workers: int) -> None:
    """Wait until that many workers take jobs."""

    async def are_there() -> bool:
        async with app.services.database.connection() as connection:
            cursor = await connection.execute("SELECT count(*) AS n FROM procrastinate_workers")
            row = await cursor.fetchone()
        return row is not None and row["n"] >= workers

    await wait_until(are_there)


def assert_is_whole(path: Path, frame_count: int) -> None:
    """Every frame once, in order, exactly at its time."""
    frames = decode_frames(path)
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(frame_count))
    assert [frame.pts for frame in frames] == [Fraction(n, FPS) for n in range(frame_count)]
    facts = measure_file(path)
    assert facts.video is not None
    assert facts.audio is not None
    assert (facts.video.is_constant_rate, facts.is_faststart) == (True, True)
    assert facts.duration_s == Fraction(frame_count, FPS)


@pytest.mark.parametrize("page", [declarative, counting])
async def test_slices_and_workers_do_not_change_the_film(
    app: AppHarness, page: Callable[[int], str], tmp_path: Path
) -> None:
    made = {}
    for workers, lengths_ms in ((1, (10_000, 1000)), (2, (1000,))):
        async with running_workers(app.services, workers=workers):
            await until_ready(app, workers)
            for slice_ms in lengths_ms:
                info = await app.wait_ended(await app.create(**film(30, slice_ms, page)))
                path = await saved(app, info, tmp_path / f"{workers}-{slice_ms}.mp4")
                slices = await slices_of(app, info["id"])
                counts = [each["frame_count"] for each in slices]
                assert counts == ([30] if slice_ms == 10_000 else [12, 12, 6])
                assert all(each["fence"] == 1 for each in slices)
                assert len({each["taken_by"] for each in slices}) <= workers
                made[workers, slice_ms] = path
    assert_is_whole(made[1, 10_000], 30)
    assert_is_whole(made[1, 1000], 30)
    assert made[1, 1000].read_bytes() == made[2, 1000].read_bytes()


# The second worker may come so late that the first has made a short film alone.
INCREASING_FRAME_COUNTS = (120, 360, 1440)


@dataclass(frozen=True)
class ObservedRender:
    """A film by two workers, and what was seen of it meanwhile."""

    frame_count: int
    info: dict[str, Any]
    frames_done: list[int]
    reports: list[float]
    slices: list[dict[str, Any]]


@pytest.fixture(scope="module")
async def observed(app: AppHarness) -> ObservedRender:
    async with running_workers(app.services, workers=2):
        await until_ready(app, 2)
        for frame_count in INCREASING_FRAME_COUNTS:
            render = await observe(app, frame_count)
            if len({each["taken_by"] for each in render.slices}) == 2:
                break
    return render


async def observe(app: AppHarness, frame_count: int) -> ObservedRender:
    render_id = await app.create(**film(frame_count, 1000))
    frames_done: list[int] = []
    following = asyncio.create_task(app.get_in_parts(f"/api/v1/renders/{render_id}/progress"))
    while not following.done():
        progress = await app.services.renders.progress(RenderId(UUID(render_id)))
        frames_done.append(progress.frames_done)
        await asyncio.sleep(0.05)
    events = b"".join((await following).parts).decode()
    fractions = re.findall(r"event: progress\ndata: (.*)", events)
    return ObservedRender(
        frame_count=frame_count,
        info=await app.info(render_id),
        frames_done=frames_done,
        reports=[json.loads(each)["progress"] for each in fractions],
        slices=await slices_of(app, render_id),
    )


async def test_several_workers_share_one_film(
    app: AppHarness, observed: ObservedRender, tmp_path: Path
) -> None:
    path = await saved(app, observed.info, tmp_path / "film.mp4")
    assert_is_whole(path, observed.frame_count)
    assert len(observed.slices) == observed.frame_count // FPS
    assert len({each["taken_by"] for each in observed.slices}) == 2


def test_progress_adds_up_over_slices_and_never_goes_back(observed: ObservedRender) -> None:
    assert observed.frames_done == sorted(observed.frames_done)
    assert len(set(observed.frames_done)) > 3
    assert observed.frames_done[-1] == observed.frame_count
    assert observed.reports == sorted(observed.reports)
    assert observed.reports[-1] == 1.0


async def note_statuses(app: AppHarness) -> None:
    """Have the database note each status that a render gets, however soon the next one comes."""
    async with app.services.database.connection() as connection:
        for statement in NOTE_STATUSES:
            await connection.execute(statement)


async def noted_statuses(app: AppHarness, render_id: str) -> list[str]:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT status FROM noted WHERE render_id = %s ORDER BY position", (render_id,)
        )
        return [row["status"] for row in await cursor.fetchall()]


NOTE_STATUSES = (
    "CREATE TABLE noted (position bigserial, render_id uuid, status text)",
    """
    CREATE FUNCTION note_status() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted (render_id, status) VALUES (NEW.id, NEW.status);
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER note_status AFTER UPDATE OF status ON render FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION note_status()
    """,
)


async def test_a_worker_that_ends_during_a_slice_is_replaced(
    app: AppHarness, tmp_path: Path
) -> None:
    queues = ["render", "media"]
    first = asyncio.create_task(run_worker(app.services, queues=queues, concurrency=1))
    await note_statuses(app)
    render_id = await app.create(**film(180, 5000, counting))

    async def is_filming() -> bool:
        return any(each["status"] == "taken" for each in await slices_of(app, render_id))

    await wait_until(is_filming)
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    left = [each["number"] for each in await slices_of(app, render_id) if each["status"] == "taken"]
    assert len(left) == 1
    async with running_workers(app.services):
        info = await app.wait_ended(render_id)
    statuses = await noted_statuses(app, render_id)
    assert statuses[-4:] == ["rendering", "recovering", "rendering", "complete"]
    assert_is_whole(await saved(app, info, tmp_path / "film.mp4"), 180)
    assert [each["fence"] for each in await slices_of(app, render_id)] == [1, 1, 1]


async def test_a_short_render_does_not_wait_for_a_long_one(app: AppHarness, tmp_path: Path) -> None:
    """One worker: its slices are shared between organizations, one for each in turn."""
    other = await app.other_organization()
    async with running_workers(app.services):
        long = await app.create(**film(192, 1000))

        async def is_filming() -> bool:
            return any(each["status"] == "done" for each in await slices_of(app, long))

        await wait_until(is_filming)
        short = await other.wait_ended(await other.create(**film(18, 1000)))
        ended = await app.wait_ended(long)
    assert ended["completed_at"] > short["completed_at"]
    assert_is_whole(await saved(app, ended, tmp_path / "long.mp4"), 192)
    assert_is_whole(await saved(other, short, tmp_path / "short.mp4"), 18)


async def test_an_error_thrown_late_fails_the_render_with_its_message(app: AppHarness) -> None:
    html = "<script>setTimeout(() => { throw new Error('in the third slice') }, 2500)</script>"
    async with running_workers(app.services, workers=2):
        info = await app.render(html, **ASKED, duration_ms=5000, work_slice_ms=1000)
    assert (info["status"], info["error"]["code"]) == ("failed", "page_threw")
    assert "in the third slice" in info["error"]["message"]


async def test_a_page_whose_size_depends_on_the_window_fails(app: AppHarness) -> None:
    """It was opened again and again for ever, and its worker was lost."""
    async with running_workers(app.services):
        script = "document.documentElement.dataset.width = innerWidth === 640 ? 320 : 640"
        html = f"<!doctype html><html data-height=180><script>{script}</script>"
        info = await app.render(html, fps=10, duration_ms=300)
    assert (info["status"], info["error"]["code"]) == ("failed", "size_unsettled")
    assert "ask for width and height" in info["error"]["message"]
