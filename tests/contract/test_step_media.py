"""Steps that look at media and listen to it: what they find, in whole files and in windows."""

import asyncio
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from framekiln.client.uploads import split_video
from framekiln.db.pool import DatabaseUnavailable
from framekiln.jobs.model import JobContext
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_media import StepMedia
from framekiln.pipelines.execution.step_type import StepRunner
from framekiln.pipelines.outputs.model import Annotation, BoxKeyframe, StepOutput
from framekiln.pipelines.steps.detect_scenes import DetectScenesRunner
from framekiln.pipelines.steps.publish import PublishRunner
from framekiln.pipelines.steps.redact_render import RedactRenderRunner
from framekiln.pipelines.steps.sample_frames import SampleFramesRunner
from framekiln.renders.handlers.redact import RedactFile
from framekiln.storage.keys import TrackedKey
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.pipelines import PipelineHarness, ScriptedRunner, open_pipelines, step
from tests.support.playback import PlayerClient, running_playback_worker
from tests.support.postgres import PostgresServer
from tests.support.streams import begin, put_fragments
from tests.support.transcriptions import ready_file
from tests.support.uploads import FILES, blob_names, running_file_worker

SECONDS = {"mode": "segment", "window_ms": 1000}
FILM = Clip(b_frames=2, duration_s=Fraction(4), keyframe_every=30, width=160, height=120)

pytestmark = pytest.mark.spec("2.11")


@pytest.fixture(scope="module")
def first_step() -> ScriptedRunner:
    """What finds something in the file, for steps that need a finder."""
    return ScriptedRunner()


@pytest.fixture(scope="module")
async def pipelines(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, first_step: ScriptedRunner
) -> AsyncIterator[PipelineHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_pipelines(postgres, folder, template=TEMPLATE, runners={}) as pipelines:
        parts = pipelines.app.services
        media = StepMedia(parts.database, parts.files, parts.blobs)
        runners: dict[str, StepRunner] = {
            "probe": first_step,
            "sample_frames": SampleFramesRunner(media, parts.files, parts.blobs),
            "detect_scenes": DetectScenesRunner(media),
            "redact_render": RedactRenderRunner(parts.files, parts.renders, BASE_URL),
            "publish": PublishRunner(parts.files, parts.renders, BASE_URL),
        }
        pipelines.handler = RunStep(pipelines.services.worker, runners)
        yield pipelines


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4", FILM)


@pytest.fixture(scope="module")
async def file_id(pipelines: PipelineHarness, film: Path) -> str:
    return await uploaded(pipelines, film)


async def uploaded(pipelines: PipelineHarness, path: Path) -> str:
    data = await asyncio.to_thread(path.read_bytes)
    async with running_file_worker(pipelines.app.services):
        found = await ready_file(pipelines.app, data)
    return str(found["id"])


async def outputs(pipelines: PipelineHarness, run: Any, namespace: str) -> list[Any]:
    page = await pipelines.get(f"pipeline-runs/{run['id']}/outputs/{namespace}", limit=100)
    found: list[Any] = page["outputs"]
    return found


async def one_step(
    pipelines: PipelineHarness, file_id: str, definition: dict[str, Any]
) -> tuple[Any, list[Any]]:
    """Run a pipeline of one step, and return the run and what the step has left."""
    run = await pipelines.start_run(
        await pipelines.create_pipeline({"steps": {"it": definition}}), file_id
    )
    await pipelines.tick()
    await pipelines.run_all_jobs()
    return run, await outputs(pipelines, run, "it")


async def frame_number(pipelines: PipelineHarness, file_id: str, at_ms: int) -> int | None:
    answer = await pipelines.app.client.get(f"{FILES}/{file_id}/frames/{at_ms}.jpg")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/jpeg"
    with Image.open(io.BytesIO(answer.content)) as picture:
        return read_frame_code(np.asarray(picture.convert("RGB")))


class TestSampleFrames:
    async def test_a_frame_is_sampled_at_each_multiple_of_the_interval(
        self, pipelines: PipelineHarness, file_id: str
    ) -> None:
        definition = step("sample_frames", with_={"every_ms": 350})
        run, [output] = await one_step(pipelines, file_id, definition)
        assert (await pipelines.statuses(run))[""] == "succeeded"
        assert output["output"]["metadata"] == {"every_ms": 350, "frame_count": 12, "first_ms": 0}
        assert output["output"]["annotations"] == []
        for at_ms in range(0, 4000, 350):
            number = await frame_number(pipelines, file_id, at_ms)
            # Flashes are white and have no number.
            assert number == at_ms * 30 // 1000 or at_ms % 1000 < 34

    async def test_frames_belong_to_the_organization(
        self, pipelines: PipelineHarness, file_id: str
    ) -> None:
        await one_step(pipelines, file_id, step("sample_frames", with_={"every_ms": 3500}))
        path = f"{FILES}/{file_id}/frames"
        stranger = await pipelines.app.other_organization()
        assert (await stranger.client.get(f"{path}/3500.jpg")).status_code == 404
        for never in ("17", "-1", "1.5", "x", "0017"):
            answer = await pipelines.app.client.get(f"{path}/{never}.jpg")
            assert (answer.status_code, answer.json()["error"]) == (404, "content_not_found")
        head = await pipelines.app.client.head(f"{path}/3500.jpg")
        assert (head.status_code, head.content) == (200, b"")

    async def test_each_window_has_the_samples_inside_it(
        self, pipelines: PipelineHarness, file_id: str
    ) -> None:
        definition = step("sample_frames", with_={"every_ms": 300}, granularity=SECONDS)
        _, found = await one_step(pipelines, file_id, definition)
        windows = [(each["window"]["start_ms"], each["output"]["metadata"]) for each in found]
        times = [
            meta["first_ms"] + n * 300 for _, meta in windows for n in range(meta["frame_count"])
        ]
        assert len(windows) > 1
        assert times == list(range(0, 4000, 300))
        for at_ms in times:
            number = await frame_number(pipelines, file_id, at_ms)
            assert number == at_ms * 30 // 1000 or at_ms % 1000 < 34

    async def test_frames_are_sampled_during_the_upload(
        self, pipelines: PipelineHarness, film: Path, tmp_path: Path
    ) -> None:
        tracks = await asyncio.to_thread(split_video, film, tmp_path)
        file_id = await begin(pipelines.app, "video", "audio")
        definition = step("sample_frames", with_={"every_ms": 250}, granularity=SECONDS)
        run = await pipelines.start_run(
            await pipelines.create_pipeline({"steps": {"it": definition}}), file_id
        )
        await put_fragments(pipelines.app, file_id, tracks[1])
        await put_fragments(pipelines.app, file_id, tracks[0], 3)
        await pipelines.tick()
        await pipelines.run_all_jobs()
        found = await outputs(pipelines, run, "it")
        assert [each["window"]["start_ms"] for each in found] == [0, 1000]
        assert [each["output"]["metadata"]["first_ms"] for each in found] == [0, 1000]
        assert await frame_number(pipelines, file_id, 1250) == 37
        assert await frame_number(pipelines, file_id, 1750) == 52
        assert (await pipelines.get_run(run))["status"] == "running"

    async def test_a_file_without_video_has_no_sampled_frames(
        self, pipelines: PipelineHarness, tmp_path: Path
    ) -> None:
        sound = make_clip(tmp_path / "a.mp4", Clip(video_codec=None))
        run, [output] = await one_step(
            pipelines, await uploaded(pipelines, sound), step("sample_frames")
        )
        assert output["output"]["metadata"]["frame_count"] == 0
        assert (await pipelines.statuses(run))[""] == "succeeded"


def make_shots(path: Path, lengths: list[int]) -> Path:
    """Write shots of so many pictures each, at 25 a second; each begins with a keyframe."""
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"g": "25", "sc_threshold": "0"})
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        pts = 0
        for shot, length in enumerate(lengths):
            rows, columns = np.mgrid[0:96, 0:160]
            grey = (200 * ((columns // 40 + rows // 24 + shot) % 2) + 20).astype(np.uint8)
            for _ in range(length):
                frame = av.VideoFrame.from_ndarray(np.repeat(grey[..., None], 3, 2), "rgb24")
                frame.pts, frame.time_base = pts, Fraction(1, 25)
                pts += 1
                container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
async def shots_id(pipelines: PipelineHarness, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A film with cuts; where the second one is, a fragment begins."""
    folder = tmp_path_factory.mktemp("shots")
    return await uploaded(pipelines, make_shots(folder / "a.mp4", [30, 20, 40, 22]))


class TestDetectScenes:
    @pytest.mark.parametrize("granularity", [None, SECONDS], ids=["file", "windows"])
    async def test_cuts_at_window_borders_are_found_once(
        self, pipelines: PipelineHarness, shots_id: str, granularity: Any
    ) -> None:
        definition = step("detect_scenes", with_={"threshold": 0.25})
        if granularity:
            definition["granularity"] = granularity
        run, found = await one_step(pipelines, shots_id, definition)
        assert (await pipelines.statuses(run))[""] == "succeeded"
        assert len(found) > (1 if granularity else 0)
        cuts = [cut for each in found for cut in each["output"]["annotations"]]
        assert [(cut["kind"], cut["start_ms"], cut["end_ms"]) for cut in cuts] == [
            ("scene.cut", 1200, 1200),
            ("scene.cut", 2000, 2000),
            ("scene.cut", 3600, 3600),
        ]
        assert all(0.25 < cut["confidence"] <= 1 for cut in cuts)
        counts = [each["output"]["metadata"]["cut_count"] for each in found]
        assert sum(counts) == 3


FACE = Annotation(
    kind="face",
    start_ms=500,
    end_ms=1500,
    keyframes=(
        BoxKeyframe(t_ms=500, x=0.1, y=0.1, w=0.3, h=0.3),
        BoxKeyframe(t_ms=1500, x=0.5, y=0.1, w=0.3, h=0.3),
    ),
)
NAME = Annotation(kind="name", start_ms=1000, end_ms=1100, text="Ada")
OTHER = Annotation(kind="other", start_ms=2000, end_ms=2100)
REDACT = {
    "find": step("probe"),
    "hide": step("redact_render", "find", with_={"kinds": ["face", "name"]}),
}


class RedactionCase:
    """Runs that redact, one job after the other."""

    async def begin(
        self,
        pipelines: PipelineHarness,
        first_step: ScriptedRunner,
        file_id: str,
        *found: Annotation,
        **more: Any,
    ) -> Any:
        first_step.results = [StepOutput({}, found)]
        run = await pipelines.start_run(
            await pipelines.create_pipeline({"steps": {**REDACT, **more}}), file_id
        )
        await pipelines.run_all_jobs()
        return run

    async def render_jobs(self, pipelines: PipelineHarness) -> list[dict[str, Any]]:
        return await pipelines.run_sql(
            "DELETE FROM procrastinate_jobs WHERE task_name = 'render.redact' RETURNING id, args"
        )

    async def ask_again(self, pipelines: PipelineHarness) -> None:
        pipelines.clock.advance(timedelta(seconds=5))
        await pipelines.tick()
        await pipelines.run_all_jobs()

    async def redact(self, pipelines: PipelineHarness) -> None:
        """Have all redactions made that are asked for, and noticed."""
        parts = pipelines.app.services
        handler = RedactFile(parts.render_worker, parts.files, parts.blobs, parts.new_blobs)
        for job in await self.render_jobs(pipelines):
            await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        await self.ask_again(pipelines)


class TestRedactRender(RedactionCase):
    async def test_a_redaction_is_an_ordinary_render(
        self, pipelines: PipelineHarness, first_step: ScriptedRunner, file_id: str
    ) -> None:
        run = await self.begin(pipelines, first_step, file_id, FACE, NAME, OTHER)
        [job] = await self.render_jobs(pipelines)
        await self.ask_again(pipelines)
        assert (await pipelines.statuses(run))["hide"] == "running"
        assert await self.render_jobs(pipelines) == []
        parts = pipelines.app.services
        handler = RedactFile(parts.render_worker, parts.files, parts.blobs, parts.new_blobs)
        await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        await self.ask_again(pipelines)
        assert (await pipelines.statuses(run))[""] == "succeeded"
        [output] = await outputs(pipelines, run, "hide")
        metadata = output["output"]["metadata"]
        render_id = metadata["render_id"]
        assert metadata == {
            "status": "complete",
            "render_id": render_id,
            "output_url": f"{BASE_URL}/api/v1/renders/{render_id}.mp4",
            "blurred_count": 1,
            "muted_count": 1,
            "without_effect_count": 0,
        }
        info = await pipelines.app.info(render_id)
        assert (info["status"], info["width"], info["height"]) == ("complete", 160, 120)
        listed = (await pipelines.app.client.get("/api/v1/renders")).json()["renders"]
        assert [(each["id"], each["source"]) for each in listed] == [(render_id, "redaction")]
        assert abs(info["duration_ms"] - 4000) < 60
        answer = await pipelines.app.client.get(metadata["output_url"])
        with av.open(io.BytesIO(answer.content), "r") as container:
            codes = [
                read_frame_code(np.asarray(frame.to_ndarray(format="rgb24"), np.uint8))
                for frame in container.decode(video=0)
            ]
        # The box lies over the number.
        assert len(codes) == 120
        assert codes[10] == 10
        assert codes[100] == 100
        assert set(codes[15:46]) == {None}

    async def test_a_lost_database_response_loses_no_output(
        self,
        pipelines: PipelineHarness,
        first_step: ScriptedRunner,
        file_id: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        await self.begin(pipelines, first_step, file_id, FACE)
        [job] = await self.render_jobs(pipelines)
        parts = pipelines.app.services
        complete, said = parts.render_worker.complete, list[bool]()

        async def complete_without_notification(*of: Any, **more: Any) -> bool:
            said.append(await complete(*of, **more))
            if len(said) == 1:
                raise DatabaseUnavailable("it has recorded everything, and died")
            return said[-1]

        monkeypatch.setattr(parts.render_worker, "complete", complete_without_notification)
        handler = RedactFile(parts.render_worker, parts.files, parts.blobs, parts.new_blobs)
        await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        answer = await pipelines.app.client.get(f"/api/v1/renders/{job['args']['render_id']}.mp4")
        assert (answer.status_code, len(said)) == (200, 2)

    async def test_a_redaction_without_boxes_is_skipped(
        self, pipelines: PipelineHarness, first_step: ScriptedRunner, file_id: str
    ) -> None:
        run = await self.begin(pipelines, first_step, file_id, OTHER)
        assert (await pipelines.statuses(run))[""] == "succeeded"
        [output] = await outputs(pipelines, run, "hide")
        assert output["output"]["metadata"] == {
            "status": "skipped",
            "render_id": None,
            "output_url": None,
            "blurred_count": 0,
            "muted_count": 0,
            "without_effect_count": 0,
        }
        assert await self.render_jobs(pipelines) == []

    async def test_a_render_that_fails_is_not_tried_again(
        self, pipelines: PipelineHarness, first_step: ScriptedRunner, tmp_path: Path
    ) -> None:
        file_id = await uploaded(pipelines, make_clip(tmp_path / "a.mp4", replace(FILM, width=128)))
        run = await self.begin(pipelines, first_step, file_id, FACE)
        [job] = await self.render_jobs(pipelines)
        source = [name for name in blob_names(pipelines.app, file_id) if name == "source"]
        assert source
        parts = pipelines.app.services
        [row] = await pipelines.run_sql("SELECT organization_id FROM file WHERE id = %s", file_id)
        key = f"org/{row['organization_id']}/files/{file_id}/source"
        await parts.blobs.put(TrackedKey(key), b"this is no film")
        handler = RedactFile(parts.render_worker, parts.files, parts.blobs, parts.new_blobs)
        await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        await self.ask_again(pipelines)
        shown = await pipelines.get_run(run)
        assert shown["status"] == "failed"
        assert shown["error"]["code"] == "redaction_failed"
        assert shown["error"]["step_key"] == "hide"
        assert [each["attempt"] for each in shown["steps"]] == [1, 1]
        # Whoever retries the run has another render made.
        await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        await pipelines.run_all_jobs()
        assert len(await self.render_jobs(pipelines)) == 1


class TestPublish(RedactionCase):
    async def published(self, pipelines: PipelineHarness, run: Any) -> Any:
        assert (await pipelines.statuses(run))["out"] == "succeeded"
        [output] = await outputs(pipelines, run, "out")
        return output["output"]["metadata"]

    async def test_the_nearest_redaction_is_published_and_can_be_played(
        self, pipelines: PipelineHarness, first_step: ScriptedRunner, file_id: str, tmp_path: Path
    ) -> None:
        settings = {"source": "redacted", "formats": ["dash", "hls"]}
        more = {
            # Farther away, and hiding less.
            "mute": step("redact_render", "find", with_={"kinds": ["name"]}),
            "hide": step("redact_render", "mute", with_={"kinds": ["face", "name"]}),
            "out": step("publish", "hide", with_=settings),
        }
        run = await self.begin(pipelines, first_step, file_id, FACE, NAME, **more)
        await self.redact(pipelines)
        await self.redact(pipelines)
        published = await self.published(pipelines, run)
        [hidden] = await outputs(pipelines, run, "hide")
        source_url = hidden["output"]["metadata"]["output_url"]
        assert published["source_url"] == source_url
        assert published["source"] == "redacted"
        assert published["render_id"] == hidden["output"]["metadata"]["render_id"]
        assert published["file_id"] == file_id
        async with running_playback_worker(pipelines.app.services):
            for name in ("hls_url", "dash_url"):
                assert (await pipelines.app.client.get(published[name])).status_code == 200
            player = PlayerClient(pipelines.app, source_url)
            frames = decode_frames(await player.whole("high", tmp_path / "whole.mp4"))
            # The box lies over the number.
            codes = [read_frame_code(frame.rgb) for frame in frames]
            assert (len(codes), codes[10], codes[100]) == (120, 10, 100)
            assert set(codes[15:46]) == {None}
            stranger = PlayerClient(await pipelines.app.other_organization(), source_url)
            refused = await stranger.get("manifest.m3u8")
            assert (refused.status_code, refused.json()["error"]) == (404, "render_not_found")

    async def test_a_redaction_with_nothing_to_hide_does_not_undo_the_one_before(
        self, pipelines: PipelineHarness, first_step: ScriptedRunner, file_id: str
    ) -> None:
        more = {
            "idle": step("redact_render", "hide", with_={"kinds": ["plate"]}),
            "out": step("publish", "idle", with_={"source": "redacted"}),
        }
        run = await self.begin(pipelines, first_step, file_id, NAME, **more)
        await self.redact(pipelines)
        [hidden] = await outputs(pipelines, run, "hide")
        published = await self.published(pipelines, run)
        assert published["source_url"] == hidden["output"]["metadata"]["output_url"]

    async def test_without_a_redaction_the_original_is_published(
        self, pipelines: PipelineHarness, first_step: ScriptedRunner, file_id: str
    ) -> None:
        out = step("publish", "hide", with_={"source": "redacted"})
        run = await self.begin(pipelines, first_step, file_id, OTHER, out=out)
        published = await self.published(pipelines, run)
        assert published["source"] == "original"
        assert published["source_url"] == f"{BASE_URL}/api/v1/files/{file_id}/content"

    async def test_a_deleted_redaction_fails_the_publish_step(
        self, pipelines: PipelineHarness, first_step: ScriptedRunner, file_id: str
    ) -> None:
        more = {
            "check": step("review", "hide"),
            "out": step("publish", "check", with_={"source": "redacted"}),
        }
        run = await self.begin(pipelines, first_step, file_id, NAME, **more)
        await self.redact(pipelines)
        [hidden] = await outputs(pipelines, run, "hide")
        render_id = hidden["output"]["metadata"]["render_id"]
        await pipelines.app.client.delete(f"/api/v1/renders/{render_id}")
        [task] = (await pipelines.get("pipeline-reviews", run_id=run["id"]))["reviews"]
        await pipelines.create(f"pipeline-reviews/{task['id']}/approve")
        await pipelines.run_all_jobs()
        assert (await pipelines.get_run(run))["error"]["code"] == "redaction_failed"
