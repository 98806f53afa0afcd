"""Segment steps: windows are cut and done as media arrives, and each has an output of its own."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from framekiln.files.model import index_key
from framekiln.kit.errors import Unavailable
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.errors import UnreadableMedia
from framekiln.pipelines.execution.media_boundaries import boundaries_of_index
from framekiln.pipelines.outputs.model import Annotation, StepOutput
from tests.contract.conftest import TEMPLATE
from tests.support.pipelines import PipelineHarness, ScriptedRunner, open_pipelines, step
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.spec("4.7")

SECOND_MS = 1000
TRACKS = ((1, "video"), (2, "audio"))


@pytest.fixture(scope="module")
async def pipelines(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PipelineHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    runners = dict.fromkeys(("probe", "publish", "detect_scenes", "transcribe"), ScriptedRunner())
    async with open_pipelines(postgres, folder, template=TEMPLATE, runners=runners) as pipelines:
        yield pipelines


@pytest.fixture
def runner(pipelines: PipelineHarness) -> ScriptedRunner:
    """What runs every step."""
    found = pipelines.handler.runners["probe"]
    assert isinstance(found, ScriptedRunner)
    found.results, found.calls = [], []
    return found


@pytest.fixture(autouse=True)
async def _empty_queue(pipelines: PipelineHarness) -> None:
    await pipelines.clear()


def segmented(kind: str, *needs: str, window_ms: int = 2000, **more: Any) -> dict[str, Any]:
    granularity = {"mode": "segment", "window_ms": window_ms, **more}
    return step(kind, *needs, granularity=granularity)


class StreamedUpload:
    """A streamed upload whose fragments are a second long each."""

    def __init__(self, pipelines: PipelineHarness, file_id: str) -> None:
        self.line = pipelines
        self.file_id = file_id
        self.counts = {track_id: 0 for track_id, _ in TRACKS}
        self.begins_ms = {track_id: 0 for track_id, _ in TRACKS}

    @classmethod
    async def begin(cls, pipelines: PipelineHarness) -> "StreamedUpload":
        file_id = await pipelines.add_file(status="receiving")
        for track_id, kind in TRACKS:
            await pipelines.run_sql(
                """
                INSERT INTO file_stream_track (file_id, track_id, type, last_at)
                VALUES (%s, %s, %s, now())
                """,
                file_id,
                track_id,
                kind,
            )
        return cls(pipelines, file_id)

    async def send(self, track_id: int, count: int = 1) -> None:
        for _ in range(count):
            number = self.counts[track_id]
            self.counts[track_id] += 1
            start_ms = self.begins_ms[track_id] + number * SECOND_MS
            end_ms = start_ms + SECOND_MS
            await self.line.run_sql(
                "UPDATE file_stream_track SET end_ms = %s WHERE file_id = %s AND track_id = %s",
                end_ms,
                self.file_id,
                track_id,
            )
            await self.line.run_sql(
                """
                INSERT INTO file_fragment (file_id, track_id, number, sha256, first_byte,
                    byte_size, dts, duration, start_ms, end_ms, blob_key)
                VALUES (%s, %s, %s, '', 0, 1, 0, 1, %s, %s, 'x')
                """,
                self.file_id,
                track_id,
                number,
                start_ms,
                end_ms,
            )

    async def send_both(self, count: int = 1) -> None:
        for track_id, _ in TRACKS:
            await self.send(track_id, count)


def spans(runner: ScriptedRunner) -> list[tuple[int, int, int]]:
    """Return the windows that were done: index, start, end."""
    windows = [work.window for work in runner.calls]
    return [(each.index, each.start_ms, each.end_ms) for each in windows if each]


async def watermark(pipelines: PipelineHarness, run: Any, key: str) -> int | None:
    steps = {each["step_key"]: each for each in (await pipelines.get_run(run))["steps"]}
    found: int | None = steps[key]["watermark_ms"]
    return found


class TestIncompleteFiles:
    async def test_windows_are_processed_during_the_upload(
        self, pipelines: PipelineHarness, runner: ScriptedRunner
    ) -> None:
        upload = await StreamedUpload.begin(pipelines)
        definition = {
            "steps": {
                "scenes": segmented("detect_scenes", window_ms=2000, overlap_ms=1000),
                "after": segmented("transcribe", "scenes", window_ms=2000),
                "whole": step("probe"),
            }
        }
        run = await pipelines.start_run(await pipelines.create_pipeline(definition), upload.file_id)
        await pipelines.tick()
        assert await pipelines.take_jobs() == []
        await upload.send(1, 4)
        await pipelines.tick()
        # The sound has not come that far.
        assert await pipelines.take_jobs() == []
        await upload.send(2, 3)
        await pipelines.tick()
        [job] = await pipelines.take_jobs()
        assert (job["args"]["step_key"], job["args"]["window"]) == ("scenes", 0)
        await pipelines.run_job(job)
        assert await watermark(pipelines, run, "scenes") == 2000
        # What needs it follows, window by window.
        [job] = await pipelines.take_jobs()
        assert (job["args"]["step_key"], job["args"]["window"]) == ("after", 0)
        await pipelines.run_job(job)
        statuses = await pipelines.statuses(run)
        assert (statuses["scenes"], statuses["whole"]) == ("running", "pending")

        await upload.send_both(1)
        await pipelines.set_file_status(upload.file_id, "processing")
        await pipelines.tick()
        await pipelines.run_all_jobs()
        assert (await pipelines.statuses(run))["scenes"] == "succeeded"
        assert (await pipelines.statuses(run))["whole"] == "pending"
        await pipelines.set_file_status(upload.file_id, "ready")
        await pipelines.tick()
        await pipelines.run_all_jobs()
        assert set((await pipelines.statuses(run)).values()) == {"succeeded"}
        scenes = [work.window for work in runner.calls if work.step.key == "scenes"]
        assert [(each.index, each.start_ms, each.end_ms) for each in scenes if each] == [
            (0, 0, 2000),
            (1, 2000, 4000),
            (2, 4000, 5000),
        ]
        assert [each.overlap_ms for each in scenes if each] == [0, 1000, 1000]

    async def test_sound_before_the_first_picture_is_in_windows(
        self, pipelines: PipelineHarness, runner: ScriptedRunner
    ) -> None:
        upload = await StreamedUpload.begin(pipelines)
        upload.begins_ms[1] = 2500
        definition = {"steps": {"hear": segmented("transcribe", window_ms=1000)}}
        run = await pipelines.start_run(await pipelines.create_pipeline(definition), upload.file_id)
        await upload.send(2, 2)
        await pipelines.tick()
        assert await pipelines.take_jobs() == []
        await upload.send(1, 3)
        await pipelines.tick()
        await pipelines.run_all_jobs()
        assert spans(runner) == [(0, 0, 1000)]
        await upload.send(2, 1)
        await pipelines.set_file_status(upload.file_id, "ready")
        await pipelines.tick()
        await pipelines.run_all_jobs()
        assert spans(runner) == [
            (0, 0, 1000),
            (1, 1000, 2000),
            (2, 2000, 3500),
            (3, 3500, 4500),
            (4, 4500, 5500),
        ]
        assert (await pipelines.statuses(run))["hear"] == "succeeded"

    async def test_a_failed_file_fails_the_run(
        self, pipelines: PipelineHarness, runner: ScriptedRunner
    ) -> None:
        upload = await StreamedUpload.begin(pipelines)
        definition = {"steps": {"scenes": segmented("detect_scenes", window_ms=1000)}}
        run = await pipelines.start_run(await pipelines.create_pipeline(definition), upload.file_id)
        await upload.send_both(2)
        await pipelines.tick()
        await pipelines.run_all_jobs()
        await pipelines.set_file_status(upload.file_id, "failed")
        await pipelines.tick()
        shown = await pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "file_failed")
        assert (
            len((await pipelines.get(f"pipeline-runs/{run['id']}/outputs/scenes"))["outputs"]) == 1
        )


class TestWholeFiles:
    async def with_index(self, pipelines: PipelineHarness, seconds: int) -> str:
        """Return a file that was uploaded whole, with a fragment a second."""
        file_id = await pipelines.add_file()
        segments = [
            {"cts": n * 90, "dts": n * 90, "duration": 90, "offset": n, "size": 1}
            for n in range(seconds)
        ]
        index = {
            "-1": {"track": -1, "type": "video", "timescale": 1, "segments": [segments[0]]},
            "1": {"track": 1, "type": "video", "timescale": 90, "segments": segments},
            "2": {"track": 2, "type": "audio", "timescale": 90, "segments": [segments[0]]},
        }
        organization = OrganizationId(UUID((await pipelines.get("organization"))["id"]))
        key = index_key(organization, FileId(UUID(file_id)))
        await pipelines.app.services.blobs.put(key, json.dumps(index).encode())
        return file_id

    async def test_windows_of_a_complete_file_are_processed_at_once(
        self, pipelines: PipelineHarness, runner: ScriptedRunner
    ) -> None:
        file = await self.with_index(pipelines, 5)
        definition = {
            "steps": {
                "scenes": segmented("detect_scenes"),
                "keep": step(
                    "filter", "scenes", when={"path": "scenes.metadata.n", "op": "eq", "value": 3}
                ),
            }
        }
        run = await pipelines.start_run(await pipelines.create_pipeline(definition), file)
        await pipelines.tick()
        jobs = await pipelines.take_jobs()
        assert [job["args"]["window"] for job in jobs] == [0, 1, 2]
        cut = Annotation(kind="scene.cut", start_ms=4500, end_ms=4500)
        runner.results = [StepOutput({"n": 3}, (cut,)), StepOutput({"n": 1}), StepOutput({"n": 2})]
        await pipelines.run_job(jobs[2])
        assert await watermark(pipelines, run, "scenes") is None
        await pipelines.run_job(jobs[0])
        assert await watermark(pipelines, run, "scenes") == 2000
        await pipelines.run_job(jobs[1])
        assert spans(runner) == [(2, 4000, 5000), (0, 0, 2000), (1, 2000, 4000)]
        # The last window's field counts in the merged view.
        assert await pipelines.statuses(run) == {
            "": "succeeded",
            "scenes": "succeeded",
            "keep": "succeeded",
        }
        address = f"pipeline-runs/{run['id']}/outputs/scenes"
        first = await pipelines.get(address, limit=2)
        assert [each["window"]["start_ms"] for each in first["outputs"]] == [0, 2000]
        rest = await pipelines.get(address, limit=2, cursor=first["next_cursor"])
        assert rest["next_cursor"] is None
        [last] = rest["outputs"]
        assert last["window"] == {"index": 2, "start_ms": 4000, "end_ms": 5000, "overlap_ms": 0}
        assert last["output"]["annotations"] == [
            {"kind": "scene.cut", "start_ms": 4500, "end_ms": 4500}
        ]
        latest = await pipelines.get(f"files/{file}/metadata/scenes")
        assert len(latest["outputs"]) == 3

    async def test_a_window_fails_and_is_retried(
        self, pipelines: PipelineHarness, runner: ScriptedRunner
    ) -> None:
        file = await self.with_index(pipelines, 4)
        definition = {"steps": {"scenes": segmented("detect_scenes")}}
        run = await pipelines.start_run(await pipelines.create_pipeline(definition), file)
        await pipelines.tick()
        runner.results = [StepOutput(), Unavailable("not now")]
        await pipelines.run_all_jobs()
        assert (await pipelines.statuses(run))["scenes"] == "running"
        pipelines.clock.advance(timedelta(seconds=10))
        await pipelines.tick()
        runner.results = [UnreadableMedia("broken")]
        await pipelines.run_all_jobs()
        shown = await pipelines.get_run(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "decode_failed")
        assert shown["steps"][0]["attempt"] == 2
        await pipelines.create(f"pipeline-runs/{run['id']}/retry")
        await pipelines.tick()
        runner.calls.clear()
        await pipelines.run_all_jobs()
        # The first window had succeeded and is not done again.
        assert spans(runner) == [(1, 2000, 4000)]
        assert [work.taken.attempt for work in runner.calls] == [3]
        assert (await pipelines.statuses(run))[""] == "succeeded"

    async def test_the_inputs_of_a_window_are_limited_to_it(
        self, pipelines: PipelineHarness, runner: ScriptedRunner
    ) -> None:
        file = await self.with_index(pipelines, 4)
        definition = {
            "steps": {
                "look": step("probe"),
                "hear": segmented("transcribe", "look"),
                "scenes": segmented("detect_scenes", "hear"),
            }
        }
        run = await pipelines.start_run(await pipelines.create_pipeline(definition), file)
        await pipelines.tick()
        early = Annotation(kind="a", start_ms=100, end_ms=200)
        late = Annotation(kind="b", start_ms=2100, end_ms=2200)
        heard = Annotation(kind="w", start_ms=2500, end_ms=2600)
        runner.results = [
            StepOutput({}, (early, late)),
            StepOutput({"n": 0}),
            StepOutput({"n": 1}, (heard,)),
        ]
        await pipelines.run_all_jobs()
        assert (await pipelines.statuses(run))[""] == "succeeded"
        scenes = {
            work.window.index: work
            for work in runner.calls
            if work.step.key == "scenes" and work.window
        }
        assert scenes[0].inputs["look"].annotations == (early,)
        assert scenes[1].inputs["look"].annotations == (late,)
        assert scenes[0].inputs["hear"] == StepOutput({"n": 0})
        assert scenes[1].inputs["hear"] == StepOutput({"n": 1}, (heard,))


def test_boundaries_of_an_index_end_where_the_longest_track_ends() -> None:
    index = {
        "2": {
            "track": 2,
            "type": "audio",
            "timescale": 1000,
            "segments": [{"cts": 0, "duration": 3500}],
        },
        "1": {
            "track": 1,
            "type": "video",
            "timescale": 30000,
            "segments": [{"cts": 0, "duration": 60060}, {"cts": 60060, "duration": 30030}],
        },
    }
    arrived = boundaries_of_index(json.dumps(index).encode())
    assert (arrived.boundaries_ms, arrived.is_sealed) == ((0, 2002, 3500), True)


def test_boundaries_of_an_index_begin_where_the_first_track_begins() -> None:
    index = {
        "1": {
            "track": 1,
            "type": "video",
            "timescale": 1000,
            "segments": [{"cts": 13000, "duration": 1000}, {"cts": 14000, "duration": 1000}],
        },
        "2": {
            "track": 2,
            "type": "audio",
            "timescale": 1000,
            "segments": [{"cts": start, "duration": 2000} for start in (10000, 12000, 14000)],
        },
    }
    found = boundaries_of_index(json.dumps(index).encode())
    assert found.boundaries_ms == (10000, 12000, 13000, 14000, 16000)
