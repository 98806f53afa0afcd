"""Bundles with a runtime of their own play the service's media while they are filmed."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.capture.network import (
    MAX_BODY_BYTES,
    PageNetwork,
    Resource,
    file_resource,
)
from framekiln.capture.page import FrameSize, open_page
from framekiln.kit.ids import FileId
from framekiln.speech.captions import to_json
from framekiln.speech.model import Transcript, TranscriptSegment, Word
from framekiln.storage.keys import TrackedKey
from framekiln.transcripts.model import TranscriptionRequest, slice_key
from framekiln.transcripts.worker import PreparedAudio
from framekiln.worker.page_service import BlobContent
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip, make_still, pad_pictures
from tests.support.frame_codes import read_frame_code
from tests.support.layer_media import glass
from tests.support.looks import decode_frames
from tests.support.playback import ClipServer, running_playback_worker
from tests.support.player_bundles import HEIGHT, WIDTH, one_source_page, packed, packed_player
from tests.support.sounds import decode_audio, find_beeps
from tests.support.timeouts import TIMEOUT_S
from tests.support.transcriptions import ready_file
from tests.support.uploads import dashed, md5_of, upload_file

RENDERS = "/api/v1/renders"
# Two fragments by file id, and two segments by address.
CLIP = Clip(fps=Fraction(10), duration_s=Fraction(5), keyframe_every=10)


@dataclass(frozen=True)
class UploadedMedia:
    """What there is to be played."""

    clip: bytes
    video_id: str
    image_id: str
    url: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClipServer]:
    path = make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", CLIP)
    with ClipServer({"clip.mp4": path}) as server:
        yield server


@pytest.fixture(scope="module")
def app_options(server: ClipServer) -> dict[str, Any]:
    return {"fetch_allow": frozenset({f"127.0.0.1:{server.port}"}), "workers": 1}


@pytest.fixture(scope="module")
async def app(app: AppHarness) -> AsyncIterator[AppHarness]:
    async with running_playback_worker(app.services):
        yield app


@pytest.fixture(scope="module")
async def media(
    app: AppHarness, server: ClipServer, tmp_path_factory: pytest.TempPathFactory
) -> UploadedMedia:
    folder = tmp_path_factory.mktemp("stock")
    clip = make_clip(folder / "clip.mp4", CLIP).read_bytes()
    still = make_still(folder / "still.png", 42).read_bytes()
    video = await ready_file(app, clip)
    image = await upload_file(app, still, filename="still.png", type="image")
    return UploadedMedia(clip, video["id"], image["id"], server.address("clip.mp4"))


async def transcribe(app: AppHarness, file_id: str, *words: Word) -> None:
    """Have words said in the first slice of a file, as workers do once they have heard them."""
    caller = await app.services.identity.authenticate(app.key)
    ask = TranscriptionRequest(FileId(UUID(file_id)))
    transcription, _ = await app.services.transcripts.start(caller, ask)
    work = app.services.transcript_worker
    sound = await work.take_audio(transcription.id, attempt=1)
    assert sound is not None
    assert await work.save_audio(sound, PreparedAudio("org/x/samples", 5000, "en"))
    taken = await work.take_slice(transcription.id, 0, attempt=1)
    assert taken is not None
    text = " ".join(word.text for word in words)
    said = Transcript("en", (TranscriptSegment(words[0].start_ms, words[-1].end_ms, text, words),))
    key = slice_key(transcription, 0)
    await app.services.new_blobs.put(key, to_json(said).encode())
    assert await work.finish_slice(taken, blob_key=key)


async def render(app: AppHarness, bundle: bytes, *, duration_ms: int) -> dict[str, Any]:
    asked = {"width": WIDTH, "height": HEIGHT, "fps": 10, "duration_ms": duration_ms}
    render_id = await app.create(**asked)
    uploaded = await app.client.post(f"{RENDERS}/{render_id}/upload", content=bundle)
    assert uploaded.is_success, uploaded.text
    return await app.wait_ended(render_id)


async def test_files_and_sources_are_played(
    app: AppHarness, media: UploadedMedia, tmp_path: Path
) -> None:
    await transcribe(
        app, media.video_id, Word("hello", 1000, 1400, 0.9), Word("you", 1500, 1800, 0.9)
    )
    bundle = packed_player(
        {"media/own clip.mp4": media.clip},
        inside="./media/own%20clip.mp4",
        video=media.video_id,
        image=media.image_id,
        url=media.url,
        durationMs=5000,
        md5=dashed(md5_of(media.clip)),
        said={"ms": 1200, "words": "1 hello,1.5 you"},
    )
    info = await render(app, bundle, duration_ms=5000)
    path = tmp_path / "film.mp4"
    path.write_bytes(await app.output(info))
    codes = [
        [read_frame_code(frame.rgb[:, left : left + 320]) for left in (0, 320, 640, 960)]
        for frame in decode_frames(path)
    ]
    assert codes == [[n, n, 42, n] for n in range(50)]
    assert info["warnings"] == []


@pytest.mark.spec("4.3")
async def test_an_upload_by_url_is_heard_from_its_first_sample(
    app: AppHarness, media: UploadedMedia, tmp_path: Path
) -> None:
    """Its first 21 ms faded in, while those of a file of the bundle did not."""
    page = one_source_page(f"https://any.example/api/v1/files/{media.video_id}", length_ms=1500)
    info = await render(app, packed({"index.html": page.encode()}), duration_ms=1500)
    path = tmp_path / "film.mp4"
    path.write_bytes(await app.output(info))
    codes = [read_frame_code(frame.rgb[:, :320]) for frame in decode_frames(path)]
    assert codes == list(range(15))
    sound = decode_audio(path)
    assert find_beeps(sound.mono, sound.rate_hz) == pytest.approx([0, 1], abs=0.002)
    first, later = (np.abs(sound.mono[at : at + 480]).max() for at in (0, 48_000))
    assert first == pytest.approx(later, rel=0.1)
    assert info["warnings"] == []


@pytest.mark.spec("4.3")
async def test_a_transparent_upload_by_file_id_causes_a_warning(
    app: AppHarness, tmp_path: Path
) -> None:
    glass(tmp_path / "glass.webm")
    video = await ready_file(app, (tmp_path / "glass.webm").read_bytes())
    page = one_source_page(video["id"], by="id", length_ms=200)
    info = await render(app, packed({"index.html": page.encode()}), duration_ms=200)
    [warning] = info["warnings"]
    assert warning.startswith(f"file-id:{video['id']} is transparent, but")


@pytest.mark.spec("4.4")
async def test_a_track_of_over_64_mib_is_played_by_file_id(app: AppHarness, tmp_path: Path) -> None:
    small = make_clip(tmp_path / "small.mp4", replace(CLIP, duration_s=Fraction(1)))
    large = pad_pictures(small, tmp_path / "large.mp4", by_bytes=MAX_BODY_BYTES // 9)
    video = await ready_file(app, large.read_bytes())
    assert max(track["byte_size"] for track in video["tracks"]) > MAX_BODY_BYTES
    page = one_source_page(video["id"], by="id", length_ms=1000)
    info = await render(app, packed({"index.html": page.encode()}), duration_ms=1000)
    path = tmp_path / "film.mp4"
    path.write_bytes(await app.output(info))
    codes = [read_frame_code(frame.rgb[:, :320]) for frame in decode_frames(path)]
    assert codes == list(range(10))
    assert info["warnings"] == []


async def test_missing_media_gets_the_errors_of_the_service(
    app: AppHarness, media: UploadedMedia, tmp_path: Path
) -> None:
    stranger = await app.other_organization()
    still = make_still(tmp_path / "still.png", 1).read_bytes()
    theirs = await upload_file(stranger, still, filename="still.png", type="image")
    nobodys, url = uuid4(), media.url
    refused = {
        f"files/{theirs['id']}": ("file_not_found", "there is no file"),
        f"files/{nobodys}/index": ("file_not_found", "there is no file"),
        "files/abc/tracks/1": ("file_not_found", "there is no file 'abc'"),
        f"files/{media.video_id}/tracks/9": ("track_not_found", "file"),
        f"files/{media.image_id}/transcription": ("transcription_not_found", "file"),
        f"transcriptions/{nobodys}/fragments/0": ("transcription_not_found", "there is no"),
        "transcode/manifest.json": ("invalid_request", "url: name the source"),
        "transcode/manifest.json?url=http://127.0.0.1/a.mp4": ("invalid_request", "the bundle has"),
        f"transcode/manifest.json?url={url}x": ("fetch_failed", "127.0.0.1: answered with"),
        f"transcode/any/init.m4s?url={url}": ("init_segment_not_found", "Init segment not found"),
        f"transcode/any/1.m4s?url={url}": ("rendition_not_found", "Track not found"),
        f"transcode/high/9.m4s?url={url}": ("segment_not_found", "Media segment not found"),
        "renders": ("not_found", "/api/v1/renders is not"),
    }
    info = await render(app, packed_player({}, refused=list(refused)), duration_ms=100)
    errors = json.loads(info["error"]["message"].removeprefix("the page's own runtime reported: "))
    assert [(status, code) for status, code, _ in errors] == [
        (404, code) for code, _ in refused.values()
    ]
    for (_, _, message), (_, begins) in zip(errors, refused.values(), strict=True):
        assert message.startswith(begins)


LARGE = """<!doctype html><script>
async function compare() {
  const whole = await (await fetch("https://elsewhere.example/large")).arrayBuffer();
  const marks = new DataView(whole);
  const found = [whole.byteLength, marks.getUint32(0), marks.getUint32(whole.byteLength - 4)];
  const part = await fetch("https://elsewhere.example/large", { headers: { Range: "bytes=4-7" } });
  found.push(part.status, new DataView(await part.arrayBuffer()).getUint32(0));
  document.title = found.join();
}
window.renderReady = compare();</script>"""


@pytest.mark.spec("4.4")
def test_files_over_64_mib_are_served_whole_and_in_ranges(browser: Browser, tmp_path: Path) -> None:
    """Once, an answer of 90 MiB hung the film for ever; then, it was refused."""
    size = MAX_BODY_BYTES + (1 << 20) + 1
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(b"\0\0\0\7\0\0\0\x08")
        file.truncate(size)
        file.seek(size - 4)
        file.write(b"\0\0\0\x09")
    network = PageNetwork(
        Resource(LARGE.encode(), "text/html"), lambda _url: file_resource(path, "video/mp4")
    )
    with open_page(browser, FrameSize(320, 180)) as page:
        page.load(network, settle_within_s=TIMEOUT_S)
        assert page.evaluate("document.title") == f"{size},7,9,206,8"
    assert network.refused == []


PICTURE = """<!doctype html><img src="/large.bmp"><script>
async function look() {
  const picture = document.querySelector("img");
  await picture.decode();
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  const worker = new Worker(URL.createObjectURL(new Blob([`
    fetch("http://127.0.0.1/large.bmp").then((answer) => answer.arrayBuffer()).then(
      (body) => postMessage(body.byteLength));`])));
  const length = await new Promise((take) => { worker.onmessage = (event) => take(event.data); });
  document.title = [...canvas.getImageData(0, 0, 1, 1).data, length].join();
}
window.renderReady = look();</script>"""


@pytest.mark.spec("4.3")
def test_pictures_and_workers_get_files_of_10_mib_whole(browser: Browser, tmp_path: Path) -> None:
    """Only `fetch` of the page itself can put pieces together."""
    path = tmp_path / "large.bmp"
    picture = Image.new("RGB", (1900, 1900), "red")
    picture.paste("blue", (0, 0, 1900, 1))
    picture.save(path)
    network = PageNetwork(
        Resource(PICTURE.encode(), "text/html"), lambda _url: file_resource(path, "image/bmp")
    )
    with open_page(browser, FrameSize(320, 180)) as page:
        page.load(network, settle_within_s=TIMEOUT_S)
        # The first row of the picture is the last one in the file.
        assert page.evaluate("document.title") == f"0,0,255,255,{path.stat().st_size}"


async def test_large_tracks_are_read_from_the_store_piece_by_piece(app: AppHarness) -> None:
    blobs = app.services.blobs
    await blobs.put(TrackedKey("org/x/track"), bytes(range(256)) * 8)
    content = BlobContent(blobs, "org/x/track", 2048, asyncio.get_running_loop())
    assert await asyncio.to_thread(content.read, 255, 258) == bytes([255, 0, 1])
    assert await asyncio.to_thread(content.read, 2047, 2048) == bytes([255])
