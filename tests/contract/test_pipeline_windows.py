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
from framekiln.pipelines.outputs.output import Annotation, Output
from framekiln.pipelines.running.arrivals import of_index
from tests.contract.conftest import TEMPLATE
from tests.support.pipelines import Line, Told, open_line, step
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.spec("4.7")

SECOND_MS = 1000
TRACKS = ((1, "video"), (2, "audio"))


@pytest.fixture(scope="module")
async def line(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Line]:
    folder = tmp_path_factory.mktemp("kiln")
    runners = dict.fromkeys(("probe", "publish", "detect_scenes", "transcribe"), Told())
    async with open_line(postgres, folder, template=TEMPLATE, runners=runners) as line:
        yield line


@pytest.fixture
def runner(line: Line) -> Told:
    """What runs every step."""
    found = line.handler.runners["probe"]
    assert isinstance(found, Told)
    found.answers, found.works = [], []
    return found


@pytest.fixture(autouse=True)
async def _nothing_left(line: Line) -> None:
    await line.jobs()
    await line.run_sql("DELETE FROM pipeline_change")


def segmented(kind: str, *needs: str, window_ms: int = 2000, **more: Any) -> dict[str, Any]:
    granularity = {"mode": "segment", "window_ms": window_ms, **more}
    return step(kind, *needs, granularity=granularity)


class Upload:
    """A streamed upload whose fragments are a second long each."""

    def __init__(self, line: Line, file_id: str) -> None:
        self.line = line
        self.file_id = file_id
        self.counts = {track_id: 0 for track_id, _ in TRACKS}

    @classmethod
    async def begin(cls, line: Line) -> "Upload":
        file_id = await line.file(status="receiving")
        for track_id, kind in TRACKS:
            await line.run_sql(
                """
                INSERT INTO file_stream_track (file_id, track_id, type, last_at)
                VALUES (%s, %s, %s, now())
                """,
                file_id,
                track_id,
                kind,
            )
        return cls(line, file_id)

    async def send(self, track_id: int, count: int = 1) -> None:
        for _ in range(count):
            number = self.counts[track_id]
            self.counts[track_id] += 1
            start_ms, end_ms = number * SECOND_MS, (number + 1) * SECOND_MS
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


def spans(runner: Told) -> list[tuple[int, int, int]]:
    """Return the windows that were done: index, start, end."""
    windows = [work.window for work in runner.works]
    return [(each.index, each.start_ms, each.end_ms) for each in windows if each]


async def watermark(line: Line, run: Any, key: str) -> int | None:
    steps = {each["step_key"]: each for each in (await line.shown(run))["steps"]}
    found: int | None = steps[key]["watermark_ms"]
    return found


class TestArriving:
    async def test_windows_are_done_while_the_upload_goes_on(
        self, line: Line, runner: Told
    ) -> None:
        upload = await Upload.begin(line)
        definition = {
            "steps": {
                "scenes": segmented("detect_scenes", window_ms=2000, overlap_ms=1000),
                "after": segmented("transcribe", "scenes", window_ms=2000),
                "whole": step("probe"),
            }
        }
        run = await line.run(await line.pipeline(definition), upload.file_id)
        await line.tick()
        assert await line.jobs() == []
        await upload.send(1, 4)
        await line.tick()
        # The sound has not come that far.
        assert await line.jobs() == []
        await upload.send(2, 3)
        await line.tick()
        [job] = await line.jobs()
        assert (job["args"]["step_key"], job["args"]["window"]) == ("scenes", 0)
        await line.do(job)
        assert await watermark(line, run, "scenes") == 2000
        # What needs it follows, window by window.
        [job] = await line.jobs()
        assert (job["args"]["step_key"], job["args"]["window"]) == ("after", 0)
        await line.do(job)
        statuses = await line.statuses(run)
        assert (statuses["scenes"], statuses["whole"]) == ("running", "pending")

        await upload.send_both(1)
        await line.set_file(upload.file_id, "processing")
        await line.tick()
        await line.work()
        assert (await line.statuses(run))["scenes"] == "succeeded"
        assert (await line.statuses(run))["whole"] == "pending"
        await line.set_file(upload.file_id, "ready")
        await line.tick()
        await line.work()
        assert set((await line.statuses(run)).values()) == {"succeeded"}
        scenes = [work.window for work in runner.works if work.step.key == "scenes"]
        assert [(each.index, each.start_ms, each.end_ms) for each in scenes if each] == [
            (0, 0, 2000),
            (1, 2000, 4000),
            (2, 4000, 5000),
        ]
        assert [each.overlap_ms for each in scenes if each] == [0, 1000, 1000]

    async def test_a_file_that_fails_ends_it(self, line: Line, runner: Told) -> None:
        upload = await Upload.begin(line)
        definition = {"steps": {"scenes": segmented("detect_scenes", window_ms=1000)}}
        run = await line.run(await line.pipeline(definition), upload.file_id)
        await upload.send_both(2)
        await line.tick()
        await line.work()
        await line.set_file(upload.file_id, "failed")
        await line.tick()
        shown = await line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "file_failed")
        assert len((await line.get(f"pipeline-runs/{run['id']}/outputs/scenes"))["outputs"]) == 1


class TestWholeFiles:
    async def with_index(self, line: Line, seconds: int) -> str:
        """Return a file that was uploaded whole, with a fragment a second."""
        file_id = await line.file()
        segments = [
            {"cts": n * 90, "dts": n * 90, "duration": 90, "offset": n, "size": 1}
            for n in range(seconds)
        ]
        index = {
            "-1": {"track": -1, "type": "video", "timescale": 1, "segments": [segments[0]]},
            "1": {"track": 1, "type": "video", "timescale": 90, "segments": segments},
            "2": {"track": 2, "type": "audio", "timescale": 90, "segments": [segments[0]]},
        }
        organization = OrganizationId(UUID((await line.get("organization"))["id"]))
        key = index_key(organization, FileId(UUID(file_id)))
        await line.kiln.services.blobs.put(key, json.dumps(index).encode())
        return file_id

    async def test_all_windows_at_once(self, line: Line, runner: Told) -> None:
        file = await self.with_index(line, 5)
        definition = {
            "steps": {
                "scenes": segmented("detect_scenes"),
                "keep": step(
                    "filter", "scenes", when={"path": "scenes.metadata.n", "op": "eq", "value": 3}
                ),
            }
        }
        run = await line.run(await line.pipeline(definition), file)
        await line.tick()
        jobs = await line.jobs()
        assert [job["args"]["window"] for job in jobs] == [0, 1, 2]
        cut = Annotation(kind="scene.cut", start_ms=4500, end_ms=4500)
        runner.answers = [Output({"n": 3}, (cut,)), Output({"n": 1}), Output({"n": 2})]
        await line.do(jobs[2])
        assert await watermark(line, run, "scenes") is None
        await line.do(jobs[0])
        assert await watermark(line, run, "scenes") == 2000
        await line.do(jobs[1])
        assert spans(runner) == [(2, 4000, 5000), (0, 0, 2000), (1, 2000, 4000)]
        # The last window's field counts in the merged view.
        assert await line.statuses(run) == {
            "": "succeeded",
            "scenes": "succeeded",
            "keep": "succeeded",
        }
        address = f"pipeline-runs/{run['id']}/outputs/scenes"
        first = await line.get(address, limit=2)
        assert [each["window"]["start_ms"] for each in first["outputs"]] == [0, 2000]
        rest = await line.get(address, limit=2, cursor=first["next_cursor"])
        assert rest["next_cursor"] is None
        [last] = rest["outputs"]
        assert last["window"] == {"index": 2, "start_ms": 4000, "end_ms": 5000, "overlap_ms": 0}
        assert last["output"]["annotations"] == [
            {"kind": "scene.cut", "start_ms": 4500, "end_ms": 4500}
        ]
        latest = await line.get(f"files/{file}/metadata/scenes")
        assert len(latest["outputs"]) == 3

    async def test_a_window_fails_and_is_retried(self, line: Line, runner: Told) -> None:
        file = await self.with_index(line, 4)
        definition = {"steps": {"scenes": segmented("detect_scenes")}}
        run = await line.run(await line.pipeline(definition), file)
        await line.tick()
        runner.answers = [Output(), Unavailable("not now")]
        await line.work()
        assert (await line.statuses(run))["scenes"] == "running"
        line.clock.advance(timedelta(seconds=10))
        await line.tick()
        runner.answers = [UnreadableMedia("broken")]
        await line.work()
        shown = await line.shown(run)
        assert (shown["status"], shown["error"]["code"]) == ("failed", "decode_failed")
        assert shown["steps"][0]["attempt"] == 2
        await line.made(f"pipeline-runs/{run['id']}/retry")
        await line.tick()
        runner.works.clear()
        await line.work()
        # The first window had succeeded and is not done again.
        assert spans(runner) == [(1, 2000, 4000)]
        assert [work.attempt for work in runner.works] == [3]
        assert (await line.statuses(run))[""] == "succeeded"

    async def test_the_inputs_of_a_window_are_limited_to_it(self, line: Line, runner: Told) -> None:
        file = await self.with_index(line, 4)
        definition = {
            "steps": {
                "look": step("probe"),
                "hear": segmented("transcribe", "look"),
                "scenes": segmented("detect_scenes", "hear"),
            }
        }
        run = await line.run(await line.pipeline(definition), file)
        await line.tick()
        early = Annotation(kind="a", start_ms=100, end_ms=200)
        late = Annotation(kind="b", start_ms=2100, end_ms=2200)
        heard = Annotation(kind="w", start_ms=2500, end_ms=2600)
        runner.answers = [Output({}, (early, late)), Output({"n": 0}), Output({"n": 1}, (heard,))]
        await line.work()
        assert (await line.statuses(run))[""] == "succeeded"
        scenes = {
            work.window.index: work
            for work in runner.works
            if work.step.key == "scenes" and work.window
        }
        assert scenes[0].inputs["look"].annotations == (early,)
        assert scenes[1].inputs["look"].annotations == (late,)
        assert scenes[0].inputs["hear"] == Output({"n": 0})
        assert scenes[1].inputs["hear"] == Output({"n": 1}, (heard,))


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
    arrived = of_index(json.dumps(index).encode())
    assert (arrived.boundaries_ms, arrived.is_sealed) == ((0, 2002, 3500), True)
