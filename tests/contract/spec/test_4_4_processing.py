"""Clause 4.4, videos: an upload is processed into tracks and an index; progress is streamed."""

import asyncio
import io
import shutil
from collections.abc import AsyncIterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from PIL import Image

from framekiln.files.events import FileEvents
from framekiln.files.handlers import ProcessFile
from framekiln.files.jobs import PROCESS_FILE
from framekiln.files.model import File
from framekiln.files.worker import MAX_TAKES, FileWorker, TakenFile
from framekiln.jobs.model import JobContext
from framekiln.kit.ids import FileId
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.jobs import end_attempts, wait_until
from tests.support.killed_workers import kill_worker_with_job
from tests.support.looks import decode_frames
from tests.support.postgres import PostgresServer
from tests.support.uploads import (
    FILES,
    blob_names,
    dashed,
    detail,
    md5_of,
    running_file_worker,
    upload_file,
    wait_processed,
    wait_until_stored,
)

pytestmark = pytest.mark.spec("4.4")

VICTIM = """
import asyncio, sys
from pathlib import Path
from framekiln.files import handlers
from framekiln.services import Services
from framekiln.settings import Settings
from framekiln.worker.loop import run_worker

async def hold(*args, **options):
    print("holding", flush=True)
    await asyncio.sleep(600)

async def main():
    handlers.run_confined = hold
    async with Services.open(Settings(data=Path(sys.argv[2])), sys.argv[1]) as services:
        await run_worker(services, queues=["files"], concurrency=1)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
async def app(app: AppHarness) -> AsyncIterator[AppHarness]:
    async with running_file_worker(app.services):
        yield app


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    return make_clip(path, Clip(duration_s=Fraction(3))).read_bytes()


@pytest.mark.spec("2.6", "3.2", "6")
async def test_an_uploaded_video_is_processed_into_tracks(
    app: AppHarness, clip: bytes, tmp_path: Path
) -> None:
    uploaded = await upload_file(app, clip, filename="clip.mp4", md5=dashed(md5_of(clip)))
    assert uploaded["status"] in ("processing", "ready")
    path = f"{FILES}/{uploaded['id']}"
    events = b"".join((await app.get_in_parts(f"{path}/progress")).parts).decode()
    assert events.endswith(
        'event: progress\ndata: {"progress":1.0}\n\nevent: complete\ndata: {}\n\n'
    )
    found = await detail(app, uploaded["id"])
    assert (found["status"], found["error"]) == ("ready", None)
    assert (found["width"], found["height"], found["duration_ms"]) == (320, 240, 3000)
    assert [(each["track_id"], each["type"], each["codec_name"]) for each in found["tracks"]] == [
        (1, "video", "h264"),
        (2, "audio", "aac"),
    ]
    assert (await app.client.get(f"{path}/content")).content == clip
    index = (await app.client.get(f"{path}/index")).json()
    assert set(index) == {"-1", "1", "2"}
    for key, entry in index.items():
        answer = await app.client.get(f"{path}/tracks/{key}")
        assert answer.headers["content-type"] == f"{entry['type']}/mp4"
        last = entry["segments"][-1]
        assert last["offset"] + last["size"] <= len(answer.content)
        part = await app.client.get(f"{path}/tracks/{key}", headers={"Range": "bytes=4-7"})
        assert (part.status_code, part.content) == (206, b"ftyp")
    # The first segment alone can be played, and shows the first frames of the clip.
    track = (await app.client.get(f"{path}/tracks/1")).content
    entry = index["1"]
    end = entry["segments"][0]["offset"] + entry["segments"][0]["size"]
    piece = tmp_path / "piece.mp4"
    piece.write_bytes(
        track[: entry["initSegment"]["size"]] + track[entry["segments"][0]["offset"] : end]
    )
    codes = [read_frame_code(frame.rgb) for frame in decode_frames(piece)]
    assert codes[:30] == list(range(30))
    sheet = await app.client.get(f"{path}/thumbnails.jpg")
    assert Image.open(io.BytesIO(sheet.content)).format == "JPEG"
    assert "data" in (await app.client.get(f"{path}/waveform.json")).json()
    tracks = [f"tracks/{key}.mp4" for key in index]
    extras = ("frame-times.json", "index.json", "source", "thumbnails.jpg", "waveform.json")
    await wait_until_stored(app, found["id"], *extras, *tracks)


async def test_an_audio_file_is_processed_without_thumbnails(
    app: AppHarness, tmp_path: Path
) -> None:
    clip = Clip(video_codec=None, audio_codec="libmp3lame", duration_s=Fraction(1))
    data = make_clip(tmp_path / "a.mp3", clip).read_bytes()
    uploaded = await upload_file(app, data, filename="a.mp3")
    found = await wait_processed(app, uploaded["id"])
    assert (found["status"], found["width"]) == ("ready", None)
    assert [each["type"] for each in found["tracks"]] == ["audio"]
    answer = await app.client.get(f"{FILES}/{found['id']}/thumbnails.jpg")
    assert (answer.status_code, answer.json()["error"]) == (404, "content_not_found")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"type": "video"}, "wrong_content"),
        ({"cut": 2000}, "unreadable_media"),
        ({"md5": md5_of(b"something else")}, "md5_mismatch"),
    ],
)
async def test_a_broken_video_fails_with_the_reason(
    app: AppHarness, clip: bytes, change: dict[str, Any], code: str
) -> None:
    data = b"%PDF-1.7 is no film" if "type" in change else clip[: -change.get("cut", 0) or None]
    uploaded = await upload_file(app, data, md5=change.get("md5"))
    path = f"{FILES}/{uploaded['id']}"
    followed = await app.get_in_parts(f"{path}/progress")
    assert followed.parts[-1].startswith(f"event: error\ndata: {code}: ".encode())
    found = await detail(app, uploaded["id"])
    assert (found["status"], found["error"]["code"]) == ("failed", code)
    assert found["failed_at"] is not None
    await wait_until_stored(app, uploaded["id"])
    # All of it was sent, so a client has nothing to send again.
    state = await app.client.get(f"{path}/upload")
    assert (state.status_code, state.json()["status"]) == (200, "failed")
    assert (await app.client.get(f"{path}/tracks/1")).status_code == 409


async def test_progress_never_decreases_and_ends_complete(
    idle_app: AppHarness, clip: bytes
) -> None:
    uploaded = await upload_file(idle_app, clip)
    file_id = FileId(UUID(uploaded["id"]))
    parts: list[bytes] = []
    follow = asyncio.create_task(idle_app.get_in_parts(f"{FILES}/{file_id}/progress", parts))

    async def has_reported(progress: float) -> bool:
        return f'data: {{"progress":{progress}}}'.encode() in b"".join(parts)

    await wait_until(partial(has_reported, 0.0))
    for permille, progress in ((100, 0.1), (400, 0.4), (300, 0.4), (5000, 0.99)):
        await idle_app.services.file_worker.report(file_id, permille)
        await wait_until(partial(has_reported, progress))
    async with running_file_worker(idle_app.services):
        events = b"".join((await follow).parts).decode().split("\n\n")
    fractions = [float(event.split(":")[-1].rstrip("}")) for event in events if "progress" in event]
    assert fractions == sorted(fractions)
    assert {0.0, 0.1, 0.4, 0.99, 1.0} == set(fractions)
    assert events[-2] == "event: complete\ndata: {}"


async def test_deletion_during_processing_leaves_no_blobs(
    idle_app: AppHarness, clip: bytes
) -> None:
    """Everything is stored again, and the file is gone: nothing may be left."""

    class InterruptedWorker(FileWorker):
        async def complete(self, taken: TakenFile, *made: Any, unused: str) -> bool:
            assert "tracks/1.mp4" in blob_names(idle_app, uploaded["id"])
            assert (await idle_app.client.delete(f"{FILES}/{uploaded['id']}")).status_code == 200
            await ProcessFile._store(process, taken.file, folders[-1])
            assert "tracks/1.mp4" in blob_names(idle_app, uploaded["id"])
            return await super().complete(taken, *made, unused=unused)

    class ObservedProcessFile(ProcessFile):
        async def _store(self, file: File, folder: Path) -> None:
            folders.append(shutil.copytree(folder, folder.with_name("copy-" + folder.name)))
            await super()._store(file, folder)

    folders: list[Path] = []
    uploaded = await upload_file(idle_app, clip)
    work = InterruptedWorker(
        idle_app.services.database,
        clock=idle_app.services.clock,
        events=FileEvents(idle_app.services.outbox),
        deletions=idle_app.services.blob_deletions,
    )
    process = ObservedProcessFile(work, idle_app.services.blobs)
    (job,) = [
        job
        for job in await idle_app.services.jobs.list_jobs(kind=PROCESS_FILE)
        if job.args["file_id"] == uploaded["id"]
    ]
    await process(JobContext(job.job_id, job.kind, job.args, attempt=1))
    shutil.rmtree(folders[-1])
    assert blob_names(idle_app, uploaded["id"]) == set()
    # The queue runs it again: there is nothing to be done.
    await process(JobContext(job.job_id, job.kind, job.args, attempt=2))


async def test_a_killed_worker_is_replaced(
    idle_app: AppHarness, clip: bytes, postgres: PostgresServer
) -> None:
    uploaded = await upload_file(idle_app, clip)
    await kill_worker_with_job(idle_app, VICTIM)

    async def is_swept() -> bool:
        return await idle_app.services.jobs.sweep_stalled(1.0) > 0

    assert (await detail(idle_app, uploaded["id"]))["status"] == "processing"
    await wait_until(is_swept)
    async with running_file_worker(idle_app.services):
        found = await wait_processed(idle_app, uploaded["id"])
    assert (found["status"], len(found["tracks"])) == ("ready", 2)
    assert (await idle_app.client.get(f"{FILES}/{found['id']}/content")).content == clip


async def test_only_the_last_worker_may_write(idle_app: AppHarness, clip: bytes) -> None:
    uploaded = await upload_file(idle_app, clip)
    work, file_id = idle_app.services.file_worker, FileId(UUID(uploaded["id"]))
    first, second = [await work.take(file_id, attempt=attempt) for attempt in (1, 2)]
    assert first is not None
    assert second is not None
    assert not await work.is_still_taken(first)
    assert await work.is_still_taken(second)
    await end_attempts(idle_app.services.database, MAX_TAKES)
    async with running_file_worker(idle_app.services):
        found = await wait_processed(idle_app, uploaded["id"])
        await wait_until_stored(idle_app, uploaded["id"])
    assert found["error"]["code"] == "file_kills_workers"
