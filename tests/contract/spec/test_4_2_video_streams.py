"""Clause 4.2, watching: HLS of a film while its slices come in, and of the whole; frames of it.

No worker runs here: slices with frame codes are made by the test and handed in as a worker would.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from urllib.parse import urljoin

import httpx
import m3u8
import pytest

from framekiln.capture.page import FrameSize
from framekiln.engine.film_plan import FilmPlan, FilmSlice, cut_slices
from framekiln.media.audio.mix import AudioClip, mix
from framekiln.media.encode.film_encoder import FilmEncoder, VideoSettings
from framekiln.media.remux.join import join_mp4
from framekiln.renders.model import RenderResult
from framekiln.storage.keys import TrackedKey
from framekiln.timeline import Timeline
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import draw_frame_code, read_frame_code
from tests.support.looks import decode_frames, decode_still, measure_file
from tests.support.postgres import PostgresServer
from tests.support.sounds import beep_times
from tests.support.videos import VIDEOS, create_video, plain_config, start_render, video_of

pytestmark = pytest.mark.spec("4.2")

NTSC = Fraction(30000, 1001)
# The last slice is one frame.
TIMELINE = Timeline(NTSC, 241)
WIDTH, HEIGHT = 64, 48
DURATIONS = count(8)


@pytest.fixture(scope="module")
async def app(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AppHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_app(postgres, folder, template=TEMPLATE) as app:
        yield app


@dataclass(frozen=True)
class Parts:
    """A film in pieces, and whole."""

    slices: Sequence[FilmSlice]
    files: Sequence[Path]
    sound: Path
    whole: Path


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """Eight seconds of frame codes, with beeps each second."""
    folder = tmp_path_factory.mktemp("parts")
    slices = cut_slices(TIMELINE)
    files = [_encoded(folder / f"{each.number}.mp4", each) for each in slices]
    beeps = make_clip(folder / "beeps.m4a", Clip(video_codec=None, duration_s=Fraction(9)))
    sound = folder / "sound.mp4"
    length_ms = TIMELINE.frame_count * 1000 / NTSC
    mix([AudioClip(beeps, Fraction(0), length_ms)], length_ms, sound)
    join_mp4(files, sound, folder / "whole.mp4")
    return Parts(slices, files, sound, folder / "whole.mp4")


def _encoded(path: Path, slice_: FilmSlice) -> Path:
    with FilmEncoder(path, VideoSettings(WIDTH, HEIGHT, NTSC)) as encoder:
        for number in range(slice_.first_frame, slice_.end_frame):
            pixels = encoder.buffer()
            pixels[..., :3] = draw_frame_code(number, WIDTH, HEIGHT)[..., ::-1]
            pixels[..., 3] = 255
            encoder.write(pixels)
    return path


class ManualWorker:
    """Do what workers do, one step at a time."""

    def __init__(self, app: AppHarness, video_id: str, parts: Parts) -> None:
        self.kiln = app
        self.video_id = video_id
        self.parts = parts
        self.last: int | None = None

    async def plan(self) -> None:
        render = (await video_of(self.kiln, self.video_id)).render
        await start_render(self.kiln, render)
        plan = FilmPlan(FrameSize(WIDTH, HEIGHT), TIMELINE, (), ())
        await self.kiln.services.render_worker.save_plan(render, plan, self.parts.slices)

    async def finish_slice(self) -> None:
        work, blobs = self.kiln.services.render_worker, self.kiln.services.blobs
        render = (await video_of(self.kiln, self.video_id)).render
        taken = await work.take_slice(render, job_id=1, after=self.last)
        assert taken is not None
        self.last = taken.slice.number
        key = f"org/{render.organization_id}/renders/{render.id}/slices/{taken.slice.number}-1.mp4"
        await blobs.put_file(TrackedKey(key), self.parts.files[taken.slice.number])
        await work.finish_slice(taken, blob_key=key, record={})

    async def finish_sound(self) -> None:
        render = (await video_of(self.kiln, self.video_id)).render
        key = f"org/{render.organization_id}/renders/{render.id}/sound-1.mp4"
        await self.kiln.services.blobs.put_file(TrackedKey(key), self.parts.sound)
        await self.kiln.services.render_worker.finish_sound(render.id, blob_key=key)

    async def finish(self) -> None:
        work, blobs = self.kiln.services.render_worker, self.kiln.services.blobs
        render = (await video_of(self.kiln, self.video_id)).render
        key = f"org/{render.organization_id}/renders/{render.id}/output-1.mp4"
        await blobs.put_file(TrackedKey(key), self.parts.whole)
        length_ms = TIMELINE.duration_ms
        facts = RenderResult(WIDTH, HEIGHT, NTSC, length_ms, key, 1, {"warnings": []})
        await work.complete(render.id, facts)
        for part in await work.finished_slices(render.id):
            await blobs.delete(part.blob_key)
        assert render.sound_key is not None
        await blobs.delete(render.sound_key)

    async def playlist(self, track: str) -> m3u8.M3U8:
        answer = await self.kiln.client.get(f"{VIDEOS}/{self.video_id}/stream/{track}.m3u8")
        assert answer.status_code == 200, answer.text
        return m3u8.loads(answer.text)

    async def fetch(self, track: str, name: str) -> bytes:
        path = f"{VIDEOS}/{self.video_id}/stream/{track}/{name}"
        answer = await self.kiln.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.content

    async def watched(self, track: str) -> bytes:
        """Everything that the playlist of a track names, as a player puts it together."""
        playlist = await self.playlist(track)
        base = f"{VIDEOS}/{self.video_id}/stream/"
        uris = [playlist.segment_map[0].uri, *(each.uri for each in playlist.segments)]
        return b"".join([(await self.kiln.client.get(base + uri)).content for uri in uris])


@pytest.fixture
async def worker(app: AppHarness, parts: Parts) -> ManualWorker:
    # Another config each time: equal ones would share a film.
    video_id = await create_video(app, plain_config(duration=next(DURATIONS)))
    return ManualWorker(app, video_id, parts)


async def test_a_film_can_be_streamed_while_it_is_rendered(
    worker: ManualWorker, parts: Parts, tmp_path: Path
) -> None:
    stream = f"{VIDEOS}/{worker.video_id}/stream"
    await worker.plan()
    await worker.finish_slice()
    assert (await worker.kiln.client.get(stream)).status_code == 409, "there is no sound yet"
    await worker.finish_sound()
    answer = await worker.kiln.client.get(stream)
    assert answer.headers["content-type"] == "application/vnd.apple.mpegurl"
    first = m3u8.loads(answer.text)
    (variant,) = first.playlists
    assert variant.stream_info.resolution == (WIDTH, HEIGHT)
    assert variant.stream_info.codecs.startswith("avc1.")
    assert variant.stream_info.codecs.endswith(",mp4a.40.2")
    assert [variant.uri, first.media[0].uri] == ["stream/picture.m3u8", "stream/sound.m3u8"]

    for track in ("picture", "sound"):
        playlist = await worker.playlist(track)
        assert (len(playlist.segments), playlist.is_endlist) == (1, False)
        assert playlist.playlist_type == "event"
    live = [await worker.fetch("picture", "init.mp4"), await worker.fetch("picture", "0.m4s")]
    live_sound = await worker.fetch("sound", "0.m4s")
    early = await worker.kiln.client.get(f"{stream}/picture/1.m4s")
    assert (early.status_code, early.json()["error"]) == (404, "segment_not_found")

    await worker.finish_slice()
    assert len((await worker.playlist("picture")).segments) == 2
    live.append(await worker.fetch("picture", "1.m4s"))
    await worker.finish_slice()
    live.append(await worker.fetch("picture", "2.m4s"))
    await worker.finish()

    playlist = await worker.playlist("picture")
    assert (len(playlist.segments), playlist.is_endlist) == (3, True)
    assert sum(Fraction(str(each.duration)) for each in playlist.segments) == pytest.approx(
        TIMELINE.frame_count / NTSC, abs=1e-5
    )
    # Who began to watch early goes on with the same film.
    assert await worker.watched("picture") == b"".join(live)
    assert await worker.fetch("sound", "0.m4s") == live_sound

    frames = await asyncio.to_thread(_decoded, tmp_path / "p.mp4", b"".join(live))
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(241))
    shown = [frame.pts - frames[0].pts for frame in frames]
    assert shown == [n / NTSC for n in range(241)]
    assert (await worker.kiln.client.get(stream)).status_code == 200


async def test_a_link_to_a_stream_reads_all_of_it_and_nothing_else(
    worker: ManualWorker, parts: Parts, tmp_path: Path
) -> None:
    await worker.plan()
    for _ in parts.slices:
        await worker.finish_slice()
    await worker.finish_sound()
    await worker.finish()
    stream = f"{VIDEOS}/{worker.video_id}/stream"
    made = await worker.kiln.client.post("/api/v1/links", json={"url": stream})
    url, transport = made.json()["url"], httpx.ASGITransport(worker.kiln.asgi)
    async with httpx.AsyncClient(transport=transport) as viewer:
        head = await viewer.head(url)
        assert (head.status_code, head.content) == (200, b"")
        (variant,) = m3u8.loads((await viewer.get(url)).text).playlists
        playlist_url = urljoin(url, variant.uri)
        playlist = m3u8.loads((await viewer.get(playlist_url)).text)
        uris = [playlist.segment_map[0].uri, *(each.uri for each in playlist.segments)]
        answers = [await viewer.get(urljoin(playlist_url, uri)) for uri in uris]
        # A browser must ask each time, or it would not notice that the link was revoked.
        assert {each.headers["cache-control"] for each in answers} == {"private, no-cache"}
        elsewhere = await viewer.get(urljoin(url, "download"))
        assert (elsewhere.status_code, elsewhere.json()["error"]) == (404, "link_not_found")
    seen = b"".join(each.content for each in answers)
    frames = await asyncio.to_thread(_decoded, tmp_path / "p.mp4", seen)
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(241))


async def test_the_sound_of_a_stream_keeps_its_times(
    worker: ManualWorker, parts: Parts, tmp_path: Path
) -> None:
    await worker.plan()
    for _ in parts.slices:
        await worker.finish_slice()
    await worker.finish_sound()
    await worker.finish()
    playlist = await worker.playlist("sound")
    assert len(playlist.segments) == 3
    path = tmp_path / "s.mp4"
    path.write_bytes(await worker.watched("sound"))
    heard, expected = beep_times(path), beep_times(parts.whole)
    assert len(expected) >= 8
    assert heard[1:] == pytest.approx(expected[1:], abs=0.002)
    # The first AAC frame has none before it to be mixed with: it fades in.
    assert heard[0] == pytest.approx(expected[0], abs=1024 / 48_000)


def _decoded(path: Path, data: bytes) -> list:  # type: ignore[type-arg]
    path.write_bytes(data)
    return decode_frames(path)


@pytest.mark.parametrize("format_", ["jpg", "png", "webp"])
async def test_frames_of_a_film_are_exact_in_every_format(
    app: AppHarness, parts: Parts, tmp_path: Path, worker: ManualWorker, format_: str
) -> None:
    await worker.plan()
    for _ in parts.slices:
        await worker.finish_slice()
    await worker.finish_sound()
    await worker.finish()
    path = tmp_path / f"f.{format_}"
    for number in (0, 119, 120, 240):
        at_s = float((number + Fraction(1, 2)) / NTSC)
        query = {"t": f"{at_s:.6f}", "format": format_}
        answer = await app.client.get(f"{VIDEOS}/{worker.video_id}/frame", params=query)
        assert answer.status_code == 200, answer.text
        path.write_bytes(answer.content)
        assert read_frame_code(decode_still(path)[..., :3]) == number
    for wrong in ("99", "-1", "x", "nan"):
        answer = await app.client.get(f"{VIDEOS}/{worker.video_id}/frame", params={"t": wrong})
        assert answer.status_code == 422, wrong
    answer = await app.client.get(f"{VIDEOS}/{worker.video_id}/frame", params={"at": "1"})
    assert (answer.status_code, answer.json()["issues"][0]["code"]) == (422, "unknown_field")


async def test_a_thumbnail_has_the_size_of_the_film(
    app: AppHarness, worker: ManualWorker, parts: Parts, tmp_path: Path
) -> None:
    await worker.plan()
    for _ in parts.slices:
        await worker.finish_slice()
    await worker.finish_sound()
    await worker.finish()
    address = f"{VIDEOS}/{worker.video_id}/thumbnail"
    answer = await app.client.get(address)
    assert answer.headers["content-type"] == "image/jpeg"
    (tmp_path / "t.jpg").write_bytes(answer.content)
    picture = measure_file(tmp_path / "t.jpg").video
    assert picture is not None
    assert (picture.width, picture.height) == (WIDTH, HEIGHT)
    assert (await app.client.get(address)).content == answer.content


async def test_a_poster_is_the_middle_of_the_film_or_the_frame_asked_for(
    app: AppHarness, worker: ManualWorker, parts: Parts, tmp_path: Path
) -> None:
    await worker.plan()
    for _ in parts.slices:
        await worker.finish_slice()
    await worker.finish_sound()
    await worker.finish()
    address = f"{VIDEOS}/{worker.video_id}/poster"
    first = await app.client.get(address)
    assert first.headers["content-type"] == "image/jpeg"
    (tmp_path / "p.jpg").write_bytes(first.content)
    made = (await video_of(app, worker.video_id)).render.result
    assert made is not None
    middle = int(made.duration_ms * made.fps / 2000)
    assert read_frame_code(decode_still(tmp_path / "p.jpg")[..., :3]) == middle
    assert (await app.client.get(address)).content == first.content
    asked = await app.client.get(address, params={"at": "0.2", "format": "webp"})
    assert asked.headers["content-type"] == "image/webp"
    (tmp_path / "p.webp").write_bytes(asked.content)
    at_200_ms = int(made.fps / 5)
    assert read_frame_code(decode_still(tmp_path / "p.webp")[..., :3]) == at_200_ms
    asked_as_a_frame = await app.client.get(address, params={"t": "0.2", "format": "webp"})
    assert asked_as_a_frame.content == asked.content
    late = await app.client.get(address, params={"at": "99"})
    assert (late.status_code, late.json()["message"][:3]) == (422, "at:")


async def test_playlists_repeat_the_media_token_in_their_addresses(
    app: AppHarness, worker: ManualWorker
) -> None:
    await worker.plan()
    await worker.finish_slice()
    await worker.finish_sound()
    answer = await app.client.get(f"{VIDEOS}/{worker.video_id}/stream?media_token=a.b%26c")
    # The key is looked at first; the token goes on to whoever has no key.
    assert "stream/picture.m3u8?media_token=a.b%26c" in answer.text


async def test_a_still_cannot_be_streamed(app: AppHarness) -> None:
    video_id = await create_video(app, plain_config(extension="png"))
    for path in ("stream", "frame"):
        answer = await app.client.get(f"{VIDEOS}/{video_id}/{path}")
        assert (answer.status_code, answer.json()["error"]) == (409, "not_a_film")
