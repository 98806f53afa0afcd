"""Renders that were planned without a browser, so that their sound waits to be mixed."""

from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from framekiln.capture.page import FrameSize
from framekiln.engine.audio_clips import AudioClips
from framekiln.engine.film_plan import FilmPlan, cut_slices
from framekiln.kit.ids import RenderId
from framekiln.renders.model import Render
from framekiln.timeline import Timeline
from tests.support.app import AppHarness

FPS: Final = Fraction(30)
ASKED: Final[dict[str, Any]] = {"width": 64, "height": 36, "fps": 30}
SHORT: Final[dict[str, Any]] = {"html": "<p>x", **ASKED, "duration_ms": 100}


async def planned(app: AppHarness, duration_ms: int, audio_clips: AudioClips = ()) -> Render:
    """Return a render that was planned, so that its sound waits to be mixed."""
    render = await render_of(app, await app.create(**SHORT))
    for job in await app.services.jobs.list_jobs(kind="render.film"):
        await app.services.jobs.cancel(job.job_id)
    timeline = Timeline.lasting(duration_ms, FPS)
    plan = FilmPlan(FrameSize(64, 36), timeline, audio_clips)
    slices = cut_slices(timeline, duration_ms)
    await app.services.render_worker.save_plan(render, plan, slices)
    for job in await app.services.jobs.list_jobs(kind="render.film"):
        await app.services.jobs.cancel(job.job_id)
    return render


async def render_of(app: AppHarness, render_id: str) -> Render:
    found = await app.services.render_worker.get(RenderId(UUID(render_id)))
    assert found is not None
    return found


async def discard(app: AppHarness, render: Render) -> None:
    async with app.services.database.transaction() as connection:
        assert not await app.services.renders.discard(connection, render)


async def has_sound(app: AppHarness, render: Render) -> bool:
    found = await app.services.render_worker.get(render.id)
    return found is not None and found.sound_key is not None
