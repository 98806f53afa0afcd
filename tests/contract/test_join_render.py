"""The join of a render: which blobs it leaves when attempts die or come too late."""

import asyncio
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from framekiln.capture.page import FrameSize
from framekiln.engine.film_plan import FilmPlan, cut_slices
from framekiln.jobs.model import JobContext
from framekiln.kit.confined.sandbox import strongest_sandbox
from framekiln.kit.confined.warm_sandbox import WarmSandbox, open_sandbox_folders
from framekiln.kit.ids import RenderId
from framekiln.media.audio.mix import mix
from framekiln.media.encode.film_encoder import FilmEncoder, VideoSettings
from framekiln.renders.handlers.media import JoinRender
from framekiln.renders.jobs import JOIN_RENDER
from framekiln.renders.model import (
    Render,
    RenderResult,
    output_key,
    render_prefix,
    slice_key,
    sound_key,
)
from framekiln.storage.deletions import BlobDeletions
from framekiln.timeline import Timeline
from tests.support.app import AppHarness
from tests.support.unrecorded_blobs import delete_unrecorded

FPS = Fraction(30)
PLAN = FilmPlan(FrameSize(64, 48), Timeline(FPS, 10))
RECORD: dict[str, Any] = {
    "fallback_reason": None,
    "warnings": [],
    "captured_frames": 10,
    "grabbing": "frames",
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A slice and its sound."""
    folder = tmp_path_factory.mktemp("parts")
    with FilmEncoder(folder / "slice.mp4", VideoSettings(64, 48, FPS)) as encoder:
        for _ in range(10):
            encoder.write(encoder.buffer())
    mix([], 10_000 / FPS, folder / "sound.mp4")
    return folder / "slice.mp4", folder / "sound.mp4"


@pytest.fixture
async def render(app: AppHarness, parts: tuple[Path, Path]) -> Render:
    """A render that has all its parts."""
    services, work = app.services, app.services.render_worker
    render_id = RenderId(UUID(await app.create(html="<p>x")))
    started = await work.start(render_id, job_id=1, attempt=1)
    assert started is not None
    await work.save_plan(started, PLAN, cut_slices(PLAN.timeline))
    taken = await work.take_slice(started, job_id=1, after=None)
    assert taken is not None
    made = slice_key(started, 0), sound_key(started)
    for key, path in zip(made, parts, strict=True):
        await services.new_blobs.put_file(key, path)
    assert await work.finish_slice(taken, blob_key=made[0], record=RECORD)
    assert await work.finish_sound(render_id, blob_key=made[1])
    ready = await work.get(render_id)
    assert ready is not None
    return ready


async def keys(app: AppHarness, render: Render) -> set[str]:
    prefix = render_prefix(render.organization_id, render.id)
    return {each.key async for each in app.services.blobs.list(prefix)}


async def join(app: AppHarness, render: Render, *, deletions: BlobDeletions | None = None) -> None:
    """Join a render, as a worker does that has found it not ended."""
    services = app.services
    with open_sandbox_folders() as folders:
        sandbox = WarmSandbox(strongest_sandbox(), folders, [])
        handler = JoinRender(
            services.render_worker,
            services.blobs,
            services.new_blobs,
            deletions or services.blob_deletions,
            sandbox,
        )
        await handler._make(render, JobContext(1, JOIN_RENDER, {}, attempt=1))


async def test_an_attempt_that_died_at_the_last_moment_leaves_no_output(
    app: AppHarness, render: Render
) -> None:
    await app.services.new_blobs.put(output_key(render), b"nobody knows of it")
    await join(app, render)
    await delete_unrecorded(app.services, render_prefix(render.organization_id, render.id))
    made = (await app.services.renders.get(render.organization_id, render.id)).result
    assert made is not None
    assert await keys(app, render) == {render.source_key, made.output_key}
    assert len(await app.output(await app.info(str(render.id)))) > 1000


async def test_a_worker_that_died_after_it_completed_a_render_leaves_no_parts(
    app: AppHarness, render: Render
) -> None:
    class Stopped(BlobDeletions):
        async def run(self, *_: str) -> None:
            raise asyncio.CancelledError

    services = app.services
    stopped = Stopped(services.database, services.blobs, services.clock)
    with pytest.raises(asyncio.CancelledError):
        await join(app, render, deletions=stopped)
    assert len(await keys(app, render)) == 4
    await services.blob_deletions.run_all()
    made = (await services.renders.get(render.organization_id, render.id)).result
    assert made is not None
    assert await keys(app, render) == {render.source_key, made.output_key}


async def test_an_attempt_that_comes_too_late_leaves_no_output(
    app: AppHarness, render: Render
) -> None:
    key = output_key(render)
    await app.services.new_blobs.put(key, b"film")
    made = RenderResult(64, 48, FPS, 333, key, byte_size=4, record={})
    assert await app.services.render_worker.complete(render.id, made)
    await join(app, render)
    assert await keys(app, render) == {render.source_key, key}
    assert await app.output(await app.info(str(render.id))) == b"film"
