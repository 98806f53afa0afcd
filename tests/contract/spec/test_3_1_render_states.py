"""Clause 3.1, states of a render: who may enter which, and that only the last worker may."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from uuid import UUID

import pytest

from framekiln.capture.page import FrameSize
from framekiln.engine.audio_clips import PageAudioClip
from framekiln.engine.film_plan import FilmPlan, cut_slices
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import RenderId
from framekiln.renders.model import CHANGES, Render, RenderResult, RenderStatus, TakenRenderSlice
from framekiln.renders.worker import MAX_OPEN_ATTEMPTS, MAX_TAKES, RenderWorker
from framekiln.timeline import Timeline
from tests.support.app import AppHarness

pytestmark = pytest.mark.spec("3.1")

S = RenderStatus
FAILURE = Failure("page_threw", "no")


@pytest.fixture
def work(app: AppHarness) -> RenderWorker:
    return app.services.render_worker


MADE = RenderResult(
    width_px=320,
    height_px=180,
    fps=Fraction(30),
    duration_ms=1000,
    output_key="org/o/renders/r/output-1.mp4",
    byte_size=1,
    record={},
)
TIMELINE = Timeline(Fraction(30), 240)
PLAN = FilmPlan(FrameSize(320, 180), TIMELINE)


async def create(app: AppHarness) -> RenderId:
    answer = await app.client.post("/api/v1/renders", json={"html": "<p>x"})
    return RenderId(UUID(answer.json()["id"]))


async def start(work: RenderWorker, render_id: RenderId, *, job: int, attempt: int = 1) -> Render:
    render = await work.start(render_id, job_id=job, attempt=attempt)
    assert render is not None
    return render


async def take(work: RenderWorker, render: Render, *, job: int) -> TakenRenderSlice:
    taken = await work.take_slice(render, job_id=job, after=None)
    assert taken is not None
    return taken


async def status_of(app: AppHarness, render_id: RenderId) -> str:
    return str((await app.client.get(f"/api/v1/renders/{render_id}")).json()["status"])


async def put_into(app: AppHarness, status: RenderStatus) -> RenderId:
    """Return a render in a state entered by force."""
    render_id = await create(app)
    async with app.services.database.transaction() as connection:
        await connection.execute("UPDATE render SET status = %s WHERE id = %s", (status, render_id))
    return render_id


def test_terminal_states_have_no_next_state() -> None:
    assert {state for state in S if not CHANGES[state]} == {S.COMPLETE, S.FAILED}
    assert {state for state in S if state.is_terminal} == {S.COMPLETE, S.FAILED}
    assert set(CHANGES) == set(S)


def test_every_state_can_be_reached_from_created() -> None:
    reached = {S.CREATED}
    for _ in S:
        reached |= {after for state in reached for after in CHANGES[state]}
    assert reached == set(S)


async def test_a_render_goes_through_all_states(app: AppHarness, work: RenderWorker) -> None:
    render_id = await create(app)
    seen = [await status_of(app, render_id)]
    render = await start(work, render_id, job=1)
    seen.append(await status_of(app, render_id))
    await work.save_plan(render, PLAN, cut_slices(TIMELINE))
    await work.report_slice(await take(work, render, job=1), frames_done=1)
    seen.append(await status_of(app, render_id))
    assert await work.complete(render_id, MADE)
    seen.append(await status_of(app, render_id))
    assert seen == ["created", "rendering", "rendering", "complete"]


async def test_a_render_without_html_waits_for_its_bundle(app: AppHarness) -> None:
    answer = await app.client.post("/api/v1/renders", json={})
    assert answer.json()["status"] == "created"
    jobs = await app.services.jobs.list_jobs()
    assert answer.json()["id"] not in {job.args.get("render_id") for job in jobs}


async def test_a_render_taken_over_recovers(app: AppHarness, work: RenderWorker) -> None:
    render_id = await create(app)
    render = await start(work, render_id, job=1)
    await work.save_plan(render, PLAN, cut_slices(TIMELINE))
    first = await take(work, render, job=1)
    for attempt in (2, 3):
        await start(work, render_id, job=1, attempt=attempt)
        assert await status_of(app, render_id) == "recovering"
    again = await take(work, render, job=1)
    assert (again.slice, again.fence) == (first.slice, first.fence + 1)
    await work.report_slice(again, frames_done=1)
    assert await status_of(app, render_id) == "rendering"
    assert await work.complete(render_id, MADE)
    assert await status_of(app, render_id) == "complete"


async def test_a_worker_that_died_before_it_started_does_not_cause_recovery(
    app: AppHarness, work: RenderWorker
) -> None:
    """Such a render stayed `created`, and could never become complete."""
    render_id = await create(app)
    await start(work, render_id, job=1, attempt=2)
    assert await status_of(app, render_id) == "rendering"
    assert await work.complete(render_id, MADE)


async def test_a_worker_that_was_replaced_changes_nothing(
    app: AppHarness, work: RenderWorker
) -> None:
    render_id = await create(app)
    render = await start(work, render_id, job=1)
    await work.save_plan(render, PLAN, cut_slices(TIMELINE))
    dead = await take(work, render, job=1)
    await start(work, render_id, job=1, attempt=2)
    alive = await take(work, render, job=1)
    await work.report_slice(alive, frames_done=7)
    await work.report_slice(dead, frames_done=20)
    assert not await work.finish_slice(dead, blob_key="dead", record={})
    assert (await app.services.renders.progress(render_id)).frames_done == 7
    assert await work.finished_slices(render_id) == []
    assert await work.finish_slice(alive, blob_key="alive", record={})
    assert [part.blob_key for part in await work.finished_slices(render_id)] == ["alive"]


async def test_a_slice_that_kills_its_workers_fails_the_render(
    app: AppHarness, work: RenderWorker
) -> None:
    render_id = await create(app)
    render = await start(work, render_id, job=1)
    await work.save_plan(render, PLAN, cut_slices(Timeline(Fraction(30), 60)))
    for attempt in range(MAX_TAKES):
        await take(work, render, job=1)
        await start(work, render_id, job=1, attempt=attempt + 2)
    assert await work.take_slice(render, job_id=1, after=None) is None
    info = await app.info(str(render_id))
    assert (info["status"], info["error"]["code"]) == ("failed", "slice_kills_workers")
    assert "frames 0 to 59" in info["error"]["message"]


async def test_stopped_workers_and_outages_do_not_fail_the_render(
    app: AppHarness, work: RenderWorker
) -> None:
    """Four workers that were stopped in the middle of one slice counted as killed by it."""
    render_id = await create(app)
    render = await start(work, render_id, job=1)
    await work.save_plan(render, PLAN, cut_slices(Timeline(Fraction(30), 600)))
    for _ in range(MAX_TAKES + 1):
        await take(work, render, job=1)
        await work.start(render_id, job_id=1, attempt=1, was_returned=True)
    assert await status_of(app, render_id) == "recovering"
    assert (await take(work, render, job=1)).fence == 1
    assert (await jobs_of(app, render_id)).count("render.film") == 1 + 1, "not one for each return"


async def test_a_page_that_kills_every_worker_before_the_plan_fails_the_render(
    app: AppHarness, work: RenderWorker
) -> None:
    """It was tried again for ever: before there are slices, nothing counted the dead."""
    render_id = await create(app)
    for attempt in range(1, MAX_OPEN_ATTEMPTS + 1):
        await start(work, render_id, job=1, attempt=attempt)
    assert await work.start(render_id, job_id=1, attempt=MAX_OPEN_ATTEMPTS + 1) is None
    info = await app.info(str(render_id))
    assert (info["status"], info["error"]["code"]) == ("failed", "render_kills_workers")


async def test_many_attempts_do_not_fail_a_planned_render(
    app: AppHarness, work: RenderWorker
) -> None:
    render = await start(work, await create(app), job=1)
    await work.save_plan(render, PLAN, cut_slices(TIMELINE))
    await start(work, render.id, job=1, attempt=MAX_OPEN_ATTEMPTS + 1)
    assert await status_of(app, render.id) == "recovering"


async def test_the_slice_of_a_dead_browser_is_released(app: AppHarness, work: RenderWorker) -> None:
    render = await start(work, await create(app), job=1)
    await work.save_plan(render, PLAN, cut_slices(TIMELINE))
    taken, other = await take(work, render, job=1), await take(work, render, job=2)
    await work.release_slice(render.id, job_id=1)
    assert await status_of(app, render.id) == "recovering"
    again = await take(work, render, job=1)
    assert (again.slice, again.fence) == (taken.slice, 2)
    assert await work.finish_slice(other, blob_key="other", record={})


async def test_a_late_worker_does_not_mark_a_render_as_recovered(
    app: AppHarness, work: RenderWorker
) -> None:
    """The report of a worker that had lost its slice ended `recovering`."""
    render = await start(work, await create(app), job=1)
    await work.save_plan(render, PLAN, cut_slices(TIMELINE))
    dead = await take(work, render, job=1)
    await start(work, render.id, job=1, attempt=2)
    await take(work, render, job=1)
    await work.report_slice(dead, frames_done=5)
    assert await status_of(app, render.id) == "recovering"


async def jobs_of(app: AppHarness, render_id: RenderId) -> list[str]:
    jobs = await app.services.jobs.list_jobs(limit=1000)
    return sorted(job.kind for job in jobs if job.args.get("render_id") == str(render_id))


async def test_the_join_is_queued_once_when_the_last_part_is_finished(
    app: AppHarness, work: RenderWorker
) -> None:
    """A worker that had lost its slice could have a whole film joined a second time."""
    render = await start(work, await create(app), job=1)
    await work.save_plan(render, PLAN, cut_slices(Timeline(Fraction(30), 60)))
    dead = await take(work, render, job=1)
    await start(work, render.id, job=1, attempt=2)
    alive = await take(work, render, job=1)
    assert await work.finish_sound(render.id, blob_key="sound")
    assert "render.join" not in await jobs_of(app, render.id)
    assert await work.finish_slice(alive, blob_key="alive", record={})
    assert not await work.finish_slice(dead, blob_key="dead", record={})
    assert not await work.finish_slice(alive, blob_key="again", record={})
    assert (await jobs_of(app, render.id)).count("render.join") == 1


async def test_audio_changed_by_scripts_is_mixed_again(app: AppHarness, work: RenderWorker) -> None:
    """What is mixed of the old plan comes too late, whether it ends before or after the change."""
    window = PageAudioClip("audio", "https://a.example/a.mp3", None, 0, 500, 0, 1)
    faded = replace(window, speed=2, gains=((0, 1), (500, 0)))
    render = await start(work, await create(app), job=1)
    await work.save_plan(render, replace(PLAN, audio_clips=(window,)), cut_slices(TIMELINE))
    assert await work.finish_sound(render.id, blob_key="old", mixed=(window,))
    assert await work.replace_audio_clips(render.id, (faded,)) == "old"
    assert await work.replace_audio_clips(render.id, (faded,)) is None
    assert not await work.finish_sound(render.id, blob_key="older", mixed=(window,))
    assert (await jobs_of(app, render.id)).count("render.sound") == 2
    current = await work.get(render.id)
    assert current is not None
    assert current.sound_key is None
    assert FilmPlan.from_json(current.plan or {}).audio_clips == (faded,)
    assert await work.finish_sound(render.id, blob_key="new", mixed=(faded,))


async def test_each_further_worker_queues_the_next(app: AppHarness, work: RenderWorker) -> None:
    """One job for each slice let a long render keep all others waiting."""
    render = await start(work, await create(app), job=1)
    slices = cut_slices(Timeline(Fraction(30), 30 * 40))
    await work.save_plan(render, PLAN, slices)
    assert len(slices) == 10
    assert (await jobs_of(app, render.id)).count("render.film") == 1 + 1
    await start(work, render.id, job=2)
    assert (await jobs_of(app, render.id)).count("render.film") == 1 + 1, "one waits already"
    async with app.services.database.connection() as connection:
        await connection.execute("UPDATE procrastinate_jobs SET status = 'doing'")
    await start(work, render.id, job=2)
    assert (await jobs_of(app, render.id)).count("render.film") == 1 + 2
    for _ in slices[1:]:
        await take(work, render, job=1)
    await start(work, render.id, job=3)
    assert (await jobs_of(app, render.id)).count("render.film") == 1 + 2
    await take(work, render, job=1)
    assert await work.start(render.id, job_id=4, attempt=1) is None


@pytest.mark.parametrize("status", [S.COMPLETE, S.FAILED])
async def test_late_results_do_not_change_a_finished_render(
    app: AppHarness, work: RenderWorker, status: RenderStatus
) -> None:
    render = await start(work, await create(app), job=1)
    await work.save_plan(render, PLAN, cut_slices(TIMELINE))
    taken = await take(work, render, job=1)
    async with app.services.database.transaction() as connection:
        await connection.execute("UPDATE render SET status = %s WHERE id = %s", (status, render.id))
    assert await work.start(render.id, job_id=1, attempt=2) is None
    assert await work.get(render.id) is None
    assert await work.take_slice(render, job_id=2, after=None) is None
    assert not await work.finish_slice(taken, blob_key="late", record={})
    assert not await work.finish_sound(render.id, blob_key="late")
    await work.report_slice(taken, frames_done=9)
    await work.release_slice(render.id, job_id=1)
    assert await status_of(app, render.id) == status


@pytest.mark.parametrize(("before", "after"), list(product(S, (S.COMPLETE, S.FAILED))))
async def test_terminal_states_are_entered_only_as_the_table_allows(
    app: AppHarness, work: RenderWorker, before: RenderStatus, after: RenderStatus
) -> None:
    render_id = await put_into(app, before)
    if after is S.COMPLETE:
        is_entered = await work.complete(render_id, MADE)
    else:
        is_entered = await work.fail(render_id, FAILURE)
    assert is_entered == (after in CHANGES[before])
    assert await status_of(app, render_id) == (after if is_entered else before)


@pytest.mark.parametrize("status", S)
async def test_an_active_render_cannot_be_deleted(app: AppHarness, status: RenderStatus) -> None:
    path = f"/api/v1/renders/{await put_into(app, status)}"
    answer = await app.client.post(f"{path}/delete")
    if status.is_active:
        assert (answer.status_code, answer.json()["status"]) == (409, status)
        assert (await app.client.get(path)).status_code == 200
    else:
        assert (answer.status_code, answer.json()) == (200, {"success": True})
        assert (await app.client.get(path)).status_code == 404
