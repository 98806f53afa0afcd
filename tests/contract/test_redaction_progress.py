"""The progress of a redaction, reported by the child, the render and the step."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from framekiln.engine.redaction import task
from framekiln.jobs.model import JobContext
from framekiln.kit.ids import RenderId
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.outputs.model import Annotation, StepOutput
from framekiln.pipelines.steps.redact_render import RedactRenderRunner
from framekiln.renders.handlers.redact import RedactFile
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL
from tests.support.clips import Clip, make_clip
from tests.support.pipelines import PipelineHarness, ScriptedRunner, open_pipelines, step
from tests.support.postgres import PostgresServer
from tests.support.transcriptions import ready_file
from tests.support.uploads import running_file_worker

pytestmark = pytest.mark.spec("2.11", "3.1")

FILM = Clip(duration_s=Fraction(6), width=640, height=360)
SPOKEN = Annotation(kind="name", start_ms=1000, end_ms=2000)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4", FILM)


@pytest.mark.parametrize("kinds", ["both", "sound"])
def test_the_child_counts_pictures_and_sound(film: Path, tmp_path: Path, kinds: str) -> None:
    source = film
    if kinds == "sound":
        source = make_clip(tmp_path / "a.mp4", Clip(video_codec=None, duration_s=Fraction(6)))
    order = tmp_path / "order.json"
    order.write_text(json.dumps({"boxes": [], "mutes": [{"start_ms": 0, "end_ms": 500}]}))
    words: list[dict[str, Any]] = []
    args = {"source": str(source), "order": str(order), "out": str(tmp_path / "out.mp4")}
    task(args, words.append)
    values = [word["thousandths"] for word in words]
    assert values == sorted(set(values))
    assert len(values) > 20
    assert values[0] < 100
    assert values[-1] > 950


@pytest.fixture(scope="module")
async def pipelines(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PipelineHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_pipelines(postgres, folder, template=TEMPLATE, runners={}) as pipelines:
        parts = pipelines.app.services
        finds = ScriptedRunner()
        finds.results = [StepOutput({}, (SPOKEN,))]
        hides = RedactRenderRunner(parts.files, parts.renders, BASE_URL)
        pipelines.handler = RunStep(
            pipelines.services.worker, {"probe": finds, "redact_render": hides}
        )
        yield pipelines


async def asked_again(pipelines: PipelineHarness, run: Any) -> Any:
    pipelines.clock.advance(timedelta(seconds=5))
    await pipelines.tick()
    await pipelines.run_all_jobs()
    return next(
        each for each in (await pipelines.get_run(run))["steps"] if each["step_key"] == "hide"
    )


async def test_the_watermark_follows_the_render(pipelines: PipelineHarness, film: Path) -> None:
    data = await asyncio.to_thread(film.read_bytes)
    async with running_file_worker(pipelines.app.services):
        file = await ready_file(pipelines.app, data)
    steps = {
        "find": step("probe"),
        "hide": step("redact_render", "find", with_={"kinds": ["name"]}),
    }
    run = await pipelines.start_run(await pipelines.create_pipeline({"steps": steps}), file["id"])
    await pipelines.run_all_jobs()
    [job] = await pipelines.run_sql(
        "DELETE FROM procrastinate_jobs WHERE task_name = 'render.redact' RETURNING id, args"
    )
    render_id = RenderId(UUID(job["args"]["render_id"]))
    parts = pipelines.app.services
    assert (await asked_again(pipelines, run))["watermark_ms"] == 0
    for thousandths in (250, 500):
        await parts.render_worker.report_permille(render_id, thousandths)
        assert (await parts.renders.progress(render_id)).fraction == thousandths / 1000
        hide = await asked_again(pipelines, run)
        assert hide["watermark_ms"] == file["duration_ms"] * thousandths // 1000
        assert hide["status"] == "running"
    await parts.render_worker.report_permille(render_id, 0)
    handler = RedactFile(parts.render_worker, parts.files, parts.blobs, parts.new_blobs)
    written, _ = await asyncio.gather(
        pipelines.app.get_in_parts(f"/api/v1/renders/{render_id}/progress"),
        handler(JobContext(job["id"], "render.redact", job["args"], attempt=1)),
    )
    events = b"".join(written.parts).decode().split("\n\n")
    reports = [json.loads(each.split("data:")[1]) for each in events if "event: progress" in each]
    assert any(0 < each["progress"] < 1 for each in reports)
    assert (await asked_again(pipelines, run))["status"] == "succeeded"
