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

from framekiln.client.local_tracks import cut_video
from framekiln.db.pool import DatabaseUnavailable
from framekiln.jobs.model import JobContext
from framekiln.pipelines.outputs.output import Annotation, Keyframe, Output
from framekiln.pipelines.runners.detect_scenes import DetectScenes
from framekiln.pipelines.runners.publish import Publish
from framekiln.pipelines.runners.redact_render import RedactRender
from framekiln.pipelines.runners.sample_frames import SampleFrames
from framekiln.pipelines.runners.step import StepRunner
from framekiln.pipelines.runners.step_media import StepMedia
from framekiln.pipelines.running.step_job import RunStep
from framekiln.renders.redacting import RedactFile
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.pipelines import Line, Told, open_line, step
from tests.support.playing import Player, serving_players
from tests.support.postgres import PostgresServer
from tests.support.streams import begin, put_pieces
from tests.support.transcribing import ready_file
from tests.support.uploads import FILES, blob_names, media_worker

SECONDS = {"mode": "segment", "window_ms": 1000}
FILM = Clip(b_frames=2, duration_s=Fraction(4), keyframe_every=30, width=160, height=120)

pytestmark = pytest.mark.spec("2.11")


@pytest.fixture(scope="module")
def told() -> Told:
    """What finds something in the file, for steps that need a finder."""
    return Told()


@pytest.fixture(scope="module")
async def line(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, told: Told
) -> AsyncIterator[Line]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_line(postgres, folder, template=TEMPLATE, runners={}) as line:
        parts = line.kiln.services
        media = StepMedia(parts.database, parts.files, parts.blobs)
        runners: dict[str, StepRunner] = {
            "probe": told,
            "sample_frames": SampleFrames(media, parts.files, parts.blobs),
            "detect_scenes": DetectScenes(media),
            "redact_render": RedactRender(parts.files, parts.renders, BASE_URL),
            "publish": Publish(parts.files, parts.renders, BASE_URL),
        }
        line.handler = RunStep(line.services.work, runners)
        yield line


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4", FILM)


@pytest.fixture(scope="module")
async def file_id(line: Line, film: Path) -> str:
    return await uploaded(line, film)


async def uploaded(line: Line, path: Path) -> str:
    data = await asyncio.to_thread(path.read_bytes)
    async with media_worker(line.kiln.services):
        found = await ready_file(line.kiln, data)
    return str(found["id"])


async def outputs(line: Line, run: Any, namespace: str) -> list[Any]:
    page = await line.get(f"pipeline-runs/{run['id']}/outputs/{namespace}", limit=100)
    found: list[Any] = page["outputs"]
    return found


async def one_step(line: Line, file_id: str, definition: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Run a pipeline of one step, and return the run and what the step has left."""
    run = await line.run(await line.pipeline({"steps": {"it": definition}}), file_id)
    await line.tick()
    await line.work()
    return run, await outputs(line, run, "it")


async def frame_number(line: Line, file_id: str, at_ms: int) -> int | None:
    answer = await line.kiln.client.get(f"{FILES}/{file_id}/frames/{at_ms}.jpg")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/jpeg"
    with Image.open(io.BytesIO(answer.content)) as picture:
        return read_frame_code(np.asarray(picture.convert("RGB")))


class TestSampleFrames:
    async def test_the_picture_on_screen_at_each_multiple(self, line: Line, file_id: str) -> None:
        definition = step("sample_frames", with_={"every_ms": 350})
        run, [output] = await one_step(line, file_id, definition)
        assert (await line.statuses(run))[""] == "succeeded"
        assert output["output"]["metadata"] == {"every_ms": 350, "frame_count": 12, "first_ms": 0}
        assert output["output"]["annotations"] == []
        for at_ms in range(0, 4000, 350):
            number = await frame_number(line, file_id, at_ms)
            # Flashes are white and have no number.
            assert number == at_ms * 30 // 1000 or at_ms % 1000 < 34

    async def test_frames_belong_to_the_organization(self, line: Line, file_id: str) -> None:
        await one_step(line, file_id, step("sample_frames", with_={"every_ms": 3500}))
        path = f"{FILES}/{file_id}/frames"
        stranger = await line.kiln.stranger()
        assert (await stranger.client.get(f"{path}/3500.jpg")).status_code == 404
        for never in ("17", "-1", "1.5", "x", "0017"):
            answer = await line.kiln.client.get(f"{path}/{never}.jpg")
            assert (answer.status_code, answer.json()["error"]) == (404, "content_not_found")
        head = await line.kiln.client.head(f"{path}/3500.jpg")
        assert (head.status_code, head.content) == (200, b"")

    async def test_windows_have_the_multiples_in_them(self, line: Line, file_id: str) -> None:
        definition = step("sample_frames", with_={"every_ms": 300}, granularity=SECONDS)
        _, found = await one_step(line, file_id, definition)
        windows = [(each["window"]["start_ms"], each["output"]["metadata"]) for each in found]
        times = [
            meta["first_ms"] + n * 300 for _, meta in windows for n in range(meta["frame_count"])
        ]
        assert len(windows) > 1
        assert times == list(range(0, 4000, 300))
        for at_ms in times:
            number = await frame_number(line, file_id, at_ms)
            assert number == at_ms * 30 // 1000 or at_ms % 1000 < 34

    async def test_a_file_that_arrives_is_looked_at_already(
        self, line: Line, film: Path, tmp_path: Path
    ) -> None:
        tracks = await asyncio.to_thread(cut_video, film, tmp_path)
        file_id = await begin(line.kiln, "video", "audio")
        definition = step("sample_frames", with_={"every_ms": 250}, granularity=SECONDS)
        run = await line.run(await line.pipeline({"steps": {"it": definition}}), file_id)
        await put_pieces(line.kiln, file_id, tracks[1])
        await put_pieces(line.kiln, file_id, tracks[0], 3)
        await line.tick()
        await line.work()
        found = await outputs(line, run, "it")
        assert [each["window"]["start_ms"] for each in found] == [0, 1000]
        assert [each["output"]["metadata"]["first_ms"] for each in found] == [0, 1000]
        assert await frame_number(line, file_id, 1250) == 37
        assert await frame_number(line, file_id, 1750) == 52
        assert (await line.shown(run))["status"] == "running"

    async def test_sound_has_no_frames(self, line: Line, tmp_path: Path) -> None:
        sound = make_clip(tmp_path / "a.mp4", Clip(video_codec=None))
        run, [output] = await one_step(line, await uploaded(line, sound), step("sample_frames"))
        assert output["output"]["metadata"]["frame_count"] == 0
        assert (await line.statuses(run))[""] == "succeeded"


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


class TestDetectScenes:
    @pytest.mark.parametrize("granularity", [None, SECONDS], ids=["file", "windows"])
    async def test_cuts_are_found_once_also_where_windows_meet(
        self, line: Line, tmp_path: Path, granularity: Any
    ) -> None:
        # The second cut is where a fragment begins.
        path = make_shots(tmp_path / "a.mp4", [30, 20, 40, 22])
        definition = step("detect_scenes", with_={"threshold": 0.25})
        if granularity:
            definition["granularity"] = granularity
        run, found = await one_step(line, await uploaded(line, path), definition)
        assert (await line.statuses(run))[""] == "succeeded"
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
        Keyframe(t_ms=500, x=0.1, y=0.1, w=0.3, h=0.3),
        Keyframe(t_ms=1500, x=0.5, y=0.1, w=0.3, h=0.3),
    ),
)
NAME = Annotation(kind="name", start_ms=1000, end_ms=1100, text="Ada")
OTHER = Annotation(kind="other", start_ms=2000, end_ms=2100)
REDACT = {
    "find": step("probe"),
    "hide": step("redact_render", "find", with_={"kinds": ["face", "name"]}),
}


class Redacting:
    """Runs that redact, one job after the other."""

    async def begin(
        self, line: Line, told: Told, file_id: str, *found: Annotation, **more: Any
    ) -> Any:
        told.answers = [Output({}, found)]
        run = await line.run(await line.pipeline({"steps": {**REDACT, **more}}), file_id)
        await line.work()
        return run

    async def render_jobs(self, line: Line) -> list[dict[str, Any]]:
        return await line.run_sql(
            "DELETE FROM procrastinate_jobs WHERE task_name = 'render.redact' RETURNING id, args"
        )

    async def ask_again(self, line: Line) -> None:
        line.clock.advance(timedelta(seconds=5))
        await line.tick()
        await line.work()

    async def redact(self, line: Line) -> None:
        """Have all redactions made that are asked for, and noticed."""
        parts = line.kiln.services
        handler = RedactFile(parts.render_work, parts.files, parts.blobs)
        for job in await self.render_jobs(line):
            await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        await self.ask_again(line)


class TestRedactRender(Redacting):
    async def test_an_ordinary_render_of_what_was_found(
        self, line: Line, told: Told, file_id: str
    ) -> None:
        run = await self.begin(line, told, file_id, FACE, NAME, OTHER)
        [job] = await self.render_jobs(line)
        await self.ask_again(line)
        assert (await line.statuses(run))["hide"] == "running"
        assert await self.render_jobs(line) == []
        parts = line.kiln.services
        handler = RedactFile(parts.render_work, parts.files, parts.blobs)
        await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        await self.ask_again(line)
        assert (await line.statuses(run))[""] == "succeeded"
        [output] = await outputs(line, run, "hide")
        metadata = output["output"]["metadata"]
        render_id = metadata["render_id"]
        assert metadata == {
            "status": "complete",
            "render_id": render_id,
            "output_url": f"{BASE_URL}/api/v1/renders/{render_id}.mp4",
            "blurred_count": 1,
            "muted_count": 1,
        }
        info = await line.kiln.info(render_id)
        assert (info["status"], info["width"], info["height"]) == ("complete", 160, 120)
        assert abs(info["duration_ms"] - 4000) < 60
        answer = await line.kiln.client.get(metadata["output_url"])
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

    async def test_an_answer_that_is_lost_with_the_database_costs_no_output(
        self, line: Line, told: Told, file_id: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await self.begin(line, told, file_id, FACE)
        [job] = await self.render_jobs(line)
        parts = line.kiln.services
        complete, said = parts.render_work.complete, list[bool]()

        async def complete_unheard(*of: Any, **more: Any) -> bool:
            said.append(await complete(*of, **more))
            if len(said) == 1:
                raise DatabaseUnavailable("it has recorded everything, and died")
            return said[-1]

        monkeypatch.setattr(parts.render_work, "complete", complete_unheard)
        handler = RedactFile(parts.render_work, parts.files, parts.blobs)
        await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        answer = await line.kiln.client.get(f"/api/v1/renders/{job['args']['render_id']}.mp4")
        assert (answer.status_code, len(said)) == (200, 2)

    async def test_a_worker_that_died_at_the_last_moment_leaves_no_second_output(
        self, line: Line, told: Told, file_id: str
    ) -> None:
        await self.begin(line, told, file_id, FACE)
        [job] = await self.render_jobs(line)
        parts = line.kiln.services
        render_id = job["args"]["render_id"]
        [row] = await line.run_sql("SELECT organization_id FROM file WHERE id = %s", file_id)
        prefix = f"org/{row['organization_id']}/renders/{render_id}"
        await parts.blobs.put(f"{prefix}/output-1.mp4", b"nobody knows of it")
        handler = RedactFile(parts.render_work, parts.files, parts.blobs)
        await handler(JobContext(job["id"], "render.redact", job["args"], attempt=2))
        names = {each.key.rpartition("/")[2] async for each in parts.blobs.list(prefix)}
        assert names == {"redaction.json", "output-2.mp4"}
        answer = await line.kiln.client.get(f"/api/v1/renders/{render_id}.mp4")
        assert answer.status_code == 200

    async def test_nothing_to_hide_is_skipped(self, line: Line, told: Told, file_id: str) -> None:
        run = await self.begin(line, told, file_id, OTHER)
        assert (await line.statuses(run))[""] == "succeeded"
        [output] = await outputs(line, run, "hide")
        assert output["output"]["metadata"] == {
            "status": "skipped",
            "render_id": None,
            "output_url": None,
            "blurred_count": 0,
            "muted_count": 0,
        }
        assert await self.render_jobs(line) == []

    async def test_a_render_that_fails_is_not_tried_again(
        self, line: Line, told: Told, tmp_path: Path
    ) -> None:
        file_id = await uploaded(line, make_clip(tmp_path / "a.mp4", replace(FILM, width=128)))
        run = await self.begin(line, told, file_id, FACE)
        [job] = await self.render_jobs(line)
        source = [name for name in blob_names(line.kiln, file_id) if name == "source"]
        assert source
        parts = line.kiln.services
        [row] = await line.run_sql("SELECT organization_id FROM file WHERE id = %s", file_id)
        key = f"org/{row['organization_id']}/files/{file_id}/source"
        await parts.blobs.put(key, b"this is no film")
        handler = RedactFile(parts.render_work, parts.files, parts.blobs)
        await handler(JobContext(job["id"], "render.redact", job["args"], attempt=1))
        await self.ask_again(line)
        shown = await line.shown(run)
        assert shown["status"] == "failed"
        assert shown["error"]["code"] == "redaction_failed"
        assert shown["error"]["step_key"] == "hide"
        assert [each["attempt"] for each in shown["steps"]] == [1, 1]
        # Whoever retries the run has another render made.
        await line.made(f"pipeline-runs/{run['id']}/retry")
        await line.work()
        assert len(await self.render_jobs(line)) == 1


class TestPublish(Redacting):
    async def published(self, line: Line, run: Any) -> Any:
        assert (await line.statuses(run))["out"] == "succeeded"
        [output] = await outputs(line, run, "out")
        return output["output"]["metadata"]

    async def test_the_nearest_redaction_is_published_and_can_be_played(
        self, line: Line, told: Told, file_id: str, tmp_path: Path
    ) -> None:
        settings = {"source": "redacted", "formats": ["dash", "hls"]}
        more = {
            # Farther away, and hiding less.
            "mute": step("redact_render", "find", with_={"kinds": ["name"]}),
            "hide": step("redact_render", "mute", with_={"kinds": ["face", "name"]}),
            "out": step("publish", "hide", with_=settings),
        }
        run = await self.begin(line, told, file_id, FACE, NAME, **more)
        await self.redact(line)
        await self.redact(line)
        published = await self.published(line, run)
        [hidden] = await outputs(line, run, "hide")
        source_url = hidden["output"]["metadata"]["output_url"]
        assert published["source_url"] == source_url
        assert published["source"] == "redacted"
        assert published["render_id"] == hidden["output"]["metadata"]["render_id"]
        assert published["file_id"] == file_id
        async with serving_players(line.kiln.services):
            for name in ("hls_url", "dash_url"):
                assert (await line.kiln.client.get(published[name])).status_code == 200
            player = Player(line.kiln, source_url)
            frames = decode_frames(await player.whole("high", tmp_path / "whole.mp4"))
            # The box lies over the number.
            codes = [read_frame_code(frame.rgb) for frame in frames]
            assert (len(codes), codes[10], codes[100]) == (120, 10, 100)
            assert set(codes[15:46]) == {None}
            stranger = Player(await line.kiln.stranger(), source_url)
            refused = await stranger.get("manifest.m3u8")
            assert (refused.status_code, refused.json()["error"]) == (404, "render_not_found")

    async def test_a_redaction_with_nothing_to_hide_does_not_undo_the_one_before(
        self, line: Line, told: Told, file_id: str
    ) -> None:
        more = {
            "idle": step("redact_render", "hide", with_={"kinds": ["plate"]}),
            "out": step("publish", "idle", with_={"source": "redacted"}),
        }
        run = await self.begin(line, told, file_id, NAME, **more)
        await self.redact(line)
        [hidden] = await outputs(line, run, "hide")
        published = await self.published(line, run)
        assert published["source_url"] == hidden["output"]["metadata"]["output_url"]

    async def test_where_nothing_was_hidden_the_original_is_published(
        self, line: Line, told: Told, file_id: str
    ) -> None:
        out = step("publish", "hide", with_={"source": "redacted"})
        run = await self.begin(line, told, file_id, OTHER, out=out)
        published = await self.published(line, run)
        assert published["source"] == "original"
        assert published["source_url"] == f"{BASE_URL}/api/v1/files/{file_id}/content"

    async def test_a_redaction_that_was_deleted_fails_the_step(
        self, line: Line, told: Told, file_id: str
    ) -> None:
        more = {
            "check": step("review", "hide"),
            "out": step("publish", "check", with_={"source": "redacted"}),
        }
        run = await self.begin(line, told, file_id, NAME, **more)
        await self.redact(line)
        [hidden] = await outputs(line, run, "hide")
        render_id = hidden["output"]["metadata"]["render_id"]
        await line.kiln.client.delete(f"/api/v1/renders/{render_id}")
        [task] = (await line.get("pipeline-reviews", run_id=run["id"]))["reviews"]
        await line.made(f"pipeline-reviews/{task['id']}/approve")
        await line.work()
        assert (await line.shown(run))["error"]["code"] == "redaction_failed"

    async def test_a_file_that_is_nowhere_whole_has_no_source_url(self, line: Line) -> None:
        """It was uploaded as tracks; its manifests play."""
        file_id = await line.file()
        _, [output] = await one_step(line, file_id, step("publish"))
        published = output["output"]["metadata"]
        assert published.keys() == {"file_id", "source", "hls_url"}
