"""Work for a deleted render or file ends at once, in the middle of whatever it does."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import av
import pytest
from PIL import Image
from structlog.testing import capture_logs

from framekiln.capture.browser import Browser
from framekiln.engine.film_order import FilmOrder
from framekiln.jobs.model import JobContext
from framekiln.jobs.progress import ProgressReporter
from framekiln.kit.cancellation import WorkCancelled
from framekiln.kit.ids import FileId
from framekiln.media.audio.mix import AudioClip, mix
from framekiln.media.captions import read_captions
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.encode.film_encoder import FilmEncoder, VideoSettings
from framekiln.media.images.image_source import ImageSource
from framekiln.media.remux.assemble import assemble
from framekiln.media.source_session import SourceSession
from framekiln.renders.model import Render
from framekiln.renders.slice_worker import SliceProgress, SliceWorker, SliceWorkerServices
from framekiln.worker.loop import run_worker
from framekiln.worker.media_handlers import render_cache
from tests.support.app import AppHarness
from tests.support.cancelled import outcome_when_cancelled
from tests.support.clips import Clip, make_clip
from tests.support.jobs import is_empty, wait_for_blocked, wait_until
from tests.support.planned_renders import ASKED, FPS, SHORT, discard, has_sound, planned, render_of
from tests.support.timeouts import FILM_LIMITS
from tests.support.uploads import FILES, blob_names, upload_file

HOURS_MS = 6 * 3600 * 1000
CLIP = Clip(width=64, height=48, duration_s=Fraction(1))
SLICE_FRAMES = 60 * 60


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", CLIP)


@pytest.fixture
def temp_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which this process makes temporary folders; no other test makes any there."""
    with tempfile.TemporaryDirectory(prefix="kiln-test-") as name:
        # Confined children go through it as other users.
        Path(name).chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)


class TestLoops:
    """Each long loop is left when the work was cancelled."""

    @pytest.mark.parametrize("format_", ["gif", "webp", "png"])
    async def test_decoding_an_animated_image_stops(self, tmp_path: Path, format_: str) -> None:
        path = tmp_path / f"moving.{format_}"
        pictures = [Image.new("RGB", (8, 8), (n * 20, 0, 0)) for n in range(9)]
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=100)
        with ImageSource(path) as source:
            await assert_stops(lambda: source.rgba(8))

    async def test_decoding_a_video_stops(self, clip: Path) -> None:
        with VideoDecoder(clip) as decoder:
            await assert_stops(decoder.read)

    async def test_mixing_audio_stops(self, clip: Path, tmp_path: Path) -> None:
        clips = [AudioClip(clip, Fraction(0), Fraction(1000))]
        await assert_stops(lambda: mix(clips, 1000, tmp_path / "mix.mp4"))
        await assert_stops(lambda: mix([], 1000, tmp_path / "silence.mp4"))

    async def test_work_in_a_confined_child_stops(self, clip: Path) -> None:
        with SourceSession() as session:
            await assert_stops(lambda: session.probe(clip))
            # The child was in the middle of an answer, and was replaced.
            assert session.probe(clip).has_sound

    async def test_parsing_captions_stops(self) -> None:
        text = b"WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n"
        await assert_stops(lambda: read_captions(text))

    @pytest.mark.parametrize("container", ["mp4", "mov", "gif"])
    async def test_joining_slices_stops(self, clip: Path, tmp_path: Path, container: str) -> None:
        out = tmp_path / f"film.{container}"
        slice_ = clip if container == "mp4" else make_clip(tmp_path / "slice.mkv", CLIP)
        await assert_stops(
            lambda: assemble([slice_], clip, out, container=container, fps=FPS, frame_count=30)
        )

    async def test_encoding_stops(self, tmp_path: Path) -> None:
        def encode() -> None:
            with FilmEncoder(tmp_path / "film.mp4", VideoSettings(64, 48, FPS)) as encoder:
                encoder.buffer()

        await assert_stops(encode)


async def assert_stops(work: Callable[[], Any]) -> None:
    assert isinstance(await outcome_when_cancelled(work), WorkCancelled)


class TestDeletedRenders:
    """The slot is free again for the next render, long before the work would have ended."""

    async def test_deletion_stops_the_capture(self, app: AppHarness) -> None:
        asked = {"width": 1280, "height": 720, "fps": 60}
        asked |= {"duration_ms": 60_000, "work_slice_ms": 60_000}
        page = "<style>@keyframes a {to {margin: 1px}} p {animation: a 1s infinite}</style><p>x"
        async with working(app, "render", "media"):
            unwanted = await render_of(app, await app.create(html=page, **asked))
            await wait_until(lambda: has_frames(app, unwanted))
            with capture_logs() as lines:
                await discard(app, unwanted)
                await app.wait_ended(await app.create(**SHORT))
        assert "render.work_stopped" in {line["event"] for line in lines}
        assert 0 < await frames_done(app, unwanted) < SLICE_FRAMES

    async def test_deletion_stops_a_page_that_settles(self, app: AppHarness) -> None:
        page = "<script>window.renderReady = new Promise(() => {})</script>"
        async with working(app, "render", "media"):
            unwanted = await render_of(app, await app.create(html=page, **ASKED, duration_ms=100))
            await wait_until(lambda: is_rendering(app, unwanted))
            with capture_logs() as lines:
                await discard(app, unwanted)
                info = await app.wait_ended(await app.create(**SHORT))
        assert info["status"] == "complete"
        assert "render.work_stopped" in {line["event"] for line in lines}

    async def test_a_film_that_waits_for_the_database_stops(
        self, app: AppHarness, browser: Browser, tmp_path: Path
    ) -> None:
        render = await planned(app, 100)
        services = app.services
        async with SliceProgress(services.render_worker) as progress:
            slices = SliceWorker(
                SliceWorkerServices(
                    services.render_worker,
                    services.blobs,
                    services.new_blobs,
                    services.jobs,
                    FILM_LIMITS,
                    render_cache(services),
                ),
                render,
                JobContext(1, "render.film", {}, attempt=1),
                FilmOrder(),
                tmp_path,
                asyncio.get_running_loop(),
                progress,
            )
            async with services.database.transaction() as connection:
                await connection.execute(
                    "SELECT FROM render WHERE id = %s FOR UPDATE", (render.id,)
                )
                await assert_stops(lambda: slices.run(browser, lambda: None))

    async def test_deletion_stops_the_audio_mix(self, app: AppHarness, temp_folder: Path) -> None:
        unwanted = await planned(app, HOURS_MS)
        async with working(app, "media"):
            await wait_until(lambda: is_mixing(temp_folder))
            with capture_logs() as lines:
                await discard(app, unwanted)
                wanted = await planned(app, 100)
                await wait_until(lambda: has_sound(app, wanted))
                await wait_until(is_empty(app.services.jobs))
        assert "render.work_stopped" in {line["event"] for line in lines}
        assert not await has_sound(app, unwanted)

    async def test_a_deleted_row_stops_the_audio_mix(
        self, app: AppHarness, temp_folder: Path
    ) -> None:
        unwanted = await planned(app, HOURS_MS)
        async with working(app, "media"):
            await wait_until(lambda: is_mixing(temp_folder))
            with capture_logs() as lines:
                async with app.services.database.connection() as connection:
                    await connection.execute("DELETE FROM render WHERE id = %s", (unwanted.id,))
                await wait_until(is_empty(app.services.jobs))
        assert "render.work_stopped" in {line["event"] for line in lines}


async def test_deletion_stops_the_processing_of_a_file(app: AppHarness, tmp_path: Path) -> None:
    film = tmp_path / "film.webm"
    write_still_film(film, frames=6_000)
    before = work_folders()
    async with working(app, "files"):
        unwanted = (await upload_file(app, film.read_bytes()))["id"]
        await wait_until(lambda: has_progress(app, unwanted, permille=110))
        with capture_logs() as lines:
            assert (await app.client.delete(f"{FILES}/{unwanted}")).status_code == 200
            await wait_until(is_empty(app.services.jobs))
    assert "files.work_stopped" in {line["event"] for line in lines}
    assert blob_names(app, unwanted) == set()
    left = work_folders() - before

    async def are_gone() -> bool:
        return not any(folder.exists() for folder in left)

    # Other tests process files at the same time, but their folders disappear.
    await wait_until(are_gone)


async def test_progress_of_a_file_deleted_at_that_moment_is_no_error(app: AppHarness) -> None:
    unwanted = FileId(UUID((await upload_file(app, b"not yet processed"))["id"]))
    begun: list[int] = []

    async def report(permille: int) -> None:
        begun.append(permille)
        await app.services.file_worker.report(unwanted, permille)

    async def is_going_on() -> bool:
        return begun == [500, 600]

    async with ProgressReporter[int](report) as progress:
        async with app.services.database.transaction() as connection:
            await connection.execute("DELETE FROM file WHERE id = %s", (unwanted,))
            progress.report(500)
            # The report sees the file, and waits for the end of this transaction.
            await wait_for_blocked(app.services.database)
        progress.report(600)
        await wait_until(is_going_on)
    assert not await has_progress(app, str(unwanted), permille=0)


def work_folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("framekiln-file-*"))


def write_still_film(path: Path, *, frames: int) -> None:
    """Write a film that is small and quickly made, but takes minutes to encode anew."""
    with av.open(str(path), "w") as film:
        stream = film.add_stream("libvpx", rate=30)
        stream.width, stream.height, stream.pix_fmt = 640, 360, "yuv420p"
        picture = av.VideoFrame(640, 360, "yuv420p")
        (packet,) = [*stream.encode(picture), *stream.encode()]
        data = bytes(packet)
        for number in range(frames):
            copy = av.Packet(data)
            copy.stream, copy.time_base = stream, Fraction(1, 30)
            copy.pts = copy.dts = number
            copy.is_keyframe = True
            film.mux(copy)


async def has_progress(app: AppHarness, file_id: str, *, permille: int) -> bool:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT FROM file_progress WHERE file_id = %s AND permille >= %s", (file_id, permille)
        )
        return await cursor.fetchone() is not None


@contextlib.asynccontextmanager
async def working(app: AppHarness, *queues: str) -> AsyncIterator[None]:
    """Run a worker with one slot for these queues."""
    task = asyncio.create_task(run_worker(app.services, queues=list(queues), concurrency=1))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def frames_done(app: AppHarness, render: Render) -> int:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT coalesce(sum(frames_done), 0) AS n FROM render_slice_progress"
            " WHERE render_id = %s",
            (render.id,),
        )
        row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def has_frames(app: AppHarness, render: Render) -> bool:
    return await frames_done(app, render) > 0


async def is_rendering(app: AppHarness, render: Render) -> bool:
    return (await app.info(str(render.id)))["status"] == "rendering"


async def is_mixing(folder: Path) -> bool:
    return any(folder.glob("framekiln-sound-*/*"))  # noqa: ASYNC240 - one small folder
