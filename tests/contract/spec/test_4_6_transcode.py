"""Spec 4.6: manifests, init segments and media segments of any source, with a URL token."""

from collections.abc import AsyncIterator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

import httpx
import m3u8
import pytest

from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL, AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.playback import ROUTE, ClipServer, PlayerClient, open_playback_app
from tests.support.postgres import PostgresServer
from tests.support.uploads import running_file_worker, upload_file, wait_processed

pytestmark = pytest.mark.spec("4.6")

CLIP = Clip(duration_s=Fraction(3))


@pytest.fixture(scope="module")
def clip_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clip") / "clip.mp4", CLIP)


@pytest.fixture(scope="module")
def clip(clip_path: Path) -> bytes:
    return clip_path.read_bytes()


@pytest.fixture(scope="module")
def server(clip_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClipServer]:
    folder = tmp_path_factory.mktemp("clips")
    text = folder / "page.html"
    text.write_text("<html>no media</html>")
    empty = folder / "empty.mp4"
    empty.touch()
    files = {
        "clip.mp4": clip_path,
        "sound.m4a": make_clip(folder / "sound.m4a", Clip(video_codec=None)),
        "silent.mp4": make_clip(folder / "silent.mp4", Clip(audio_codec=None)),
        "page.html": text,
        "empty.mp4": empty,
    }
    with ClipServer(files) as server:
        yield server


@pytest.fixture(scope="module")
async def app(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, server: ClipServer
) -> AsyncIterator[AppHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_playback_app(postgres, folder, server, template=TEMPLATE) as app:
        yield app


@pytest.fixture
def player(app: AppHarness, server: ClipServer) -> PlayerClient:
    return PlayerClient(app, server.address("clip.mp4"))


async def test_hls_leads_to_every_segment(player: PlayerClient, tmp_path: Path) -> None:
    answer = await player.get("manifest.m3u8")
    assert answer.headers["content-type"].startswith("application/vnd.apple.mpegurl")
    assert answer.headers["cache-control"] == "private, max-age=300"
    manifest = m3u8.loads(answer.text)
    (variant,) = manifest.playlists
    assert variant.stream_info.resolution == (320, 240)
    playlist_url = urljoin(str(answer.url), variant.uri)
    playlist = m3u8.loads((await player.kiln.client.get(playlist_url)).text)
    uris = [playlist.segment_map[0].uri, *(each.uri for each in playlist.segments)]
    parts = [await player.kiln.client.get(urljoin(playlist_url, uri)) for uri in uris]
    whole = tmp_path / "whole.mp4"
    whole.write_bytes(b"".join(part.content for part in parts))
    codes = [read_frame_code(frame.rgb) for frame in decode_frames(whole)]
    assert codes == CLIP.frame_numbers
    assert sum(each.duration for each in playlist.segments) == pytest.approx(3)
    assert parts[1].headers["content-type"] == "video/iso.segment"
    assert {part.headers["cache-control"] for part in parts} == {"private, max-age=3600"}


async def test_a_segment_as_mp4_plays_by_itself(player: PlayerClient, tmp_path: Path) -> None:
    answer = await player.get("high/2.mp4")
    assert answer.headers["content-type"] == "video/mp4"
    path = tmp_path / "second.mp4"
    path.write_bytes(answer.content)
    frames = decode_frames(path)
    # Times count from the start of the source, not of the segment.
    assert [frame.pts * CLIP.fps for frame in frames] == list(range(30, 90))
    assert answer.content == await player.bytes("high/init.mp4") + await player.bytes("high/2.m4s")


@pytest.mark.parametrize("extension", ["m4s", "mp4", "webm"])
async def test_init_segments_may_have_any_extension(player: PlayerClient, extension: str) -> None:
    assert await player.bytes(f"audio/init.{extension}") == await player.bytes("audio/init.m4s")


async def test_json_templates_lead_to_segments(player: PlayerClient) -> None:
    answer = await player.get("manifest.json")
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body["sourceUrl"] == player.url
    assert body["durationMs"] == 3000
    assert [each["id"] for each in body["videoRenditions"]] == ["high", "scrub"]
    assert body["videoRenditions"][0]["segmentDurationsMs"] == [1000, 2000]
    assert [each["id"] for each in body["audioRenditions"]] == ["audio"]
    for template in body["endpoints"].values():
        assert template.startswith(f"{BASE_URL}{ROUTE}/")
        url = template.replace("{rendition}", "high").replace("{segmentId}", "1")
        assert (await player.kiln.client.get(url)).status_code == 200


async def test_a_dash_manifest_is_served(player: PlayerClient) -> None:
    answer = await player.get("manifest.mpd")
    assert answer.headers["content-type"].startswith("application/dash+xml")
    assert 'media="high/$Number$.m4s?url=' in answer.text


async def test_sources_with_only_audio_or_video_are_played(
    app: AppHarness, server: ClipServer
) -> None:
    heard = await PlayerClient(app, server.address("sound.m4a")).manifest()
    assert heard["videoRenditions"] == []
    assert len(heard["audioRenditions"]) == 1
    seen = PlayerClient(app, server.address("silent.mp4"))
    assert (await seen.manifest())["audioRenditions"] == []
    assert (await seen.get("audio/1.m4s")).status_code == 404
    assert (await seen.get("scrub/1.m4s")).status_code == 200


async def test_presets_are_listed(app: AppHarness) -> None:
    found = (await app.client.get(f"{ROUTE}/presets")).json()["presets"]
    assert [each["id"] for each in found] == ["high", "720p", "480p", "360p", "scrub", "audio"]


async def test_segments_answer_ranges_and_etags(player: PlayerClient) -> None:
    whole = await player.get("high/1.m4s")
    part = await player.get("high/1.m4s", headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, whole.content[4:8])
    beyond = await player.get("high/1.m4s", headers={"Range": "bytes=99999999-"})
    assert beyond.status_code == 416
    same = await player.get("high/1.m4s", headers={"If-None-Match": whole.headers["etag"]})
    assert same.status_code == 304


async def test_an_uploaded_file_is_a_source(app: AppHarness, clip: bytes, tmp_path: Path) -> None:
    async with running_file_worker(app.services):
        file = await upload_file(app, clip)
        assert (await wait_processed(app, file["id"]))["status"] == "ready"
    for url in (f"{BASE_URL}/api/v1/files/{file['id']}", f"file-id:{file['id']}"):
        player = PlayerClient(app, url)
        frames = decode_frames(await player.whole("high", tmp_path / "whole.mp4"))
        assert [read_frame_code(frame.rgb) for frame in frames] == CLIP.frame_numbers
        assert [frame.pts for frame in frames] == [n / CLIP.fps for n in CLIP.frame_numbers]
    stranger = PlayerClient(await app.other_organization(), f"file-id:{file['id']}")
    refused = await stranger.get("manifest.m3u8")
    assert (refused.status_code, refused.json()["error"]) == (404, "file_not_found")


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["manifest.m3u8", "manifest.json", "manifest.mpd", "high/init.m4s", "high/1.m4s"]
)
async def test_the_source_must_be_named(app: AppHarness, path: str) -> None:
    for query in ("", "?url=", "?url=clip.mp4", "?url=file:///etc/passwd"):
        answer = await app.client.get(f"{ROUTE}/{path}{query}")
        assert answer.status_code == 400
        assert answer.json()["error"]
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("high/99.m4s", "Media segment not found"),
        ("high/0.m4s", "Media segment not found"),
        ("high/first.m4s", "Media segment not found"),
        ("high/1.ts", "Media segment not found"),
        ("8k/init.m4s", "Init segment not found"),
        ("8k/1.m4s", "Track not found"),
        ("8k/playlist.m3u8", "Track not found"),
    ],
)
async def test_missing_segments_and_renditions_are_404(
    player: PlayerClient, path: str, words: str
) -> None:
    answer = await player.get(path)
    assert answer.status_code == 404
    # Players look at the first hundred characters.
    assert words in answer.text[:100]


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [("page.html", 422, "unreadable_media"), ("missing.mp4", 502, "fetch_failed")],
)
async def test_unplayable_sources_are_refused_with_a_code(
    app: AppHarness, server: ClipServer, name: str, status: int, code: str
) -> None:
    answer = await PlayerClient(app, server.address(name)).get("manifest.m3u8")
    assert (answer.status_code, answer.json()["error"]) == (status, code)


async def test_the_error_of_a_broken_source_names_its_url_and_not_our_copy(
    app: AppHarness, server: ClipServer
) -> None:
    answer = await PlayerClient(app, server.address("empty.mp4")).get("manifest.m3u8")
    assert (answer.status_code, answer.json()["error"]) == (422, "unreadable_media")
    assert answer.json()["message"] == "empty.mp4: the file is empty"
    assert "config" not in answer.json()["remedy"]


async def test_private_addresses_are_refused(app: AppHarness) -> None:
    answer = await PlayerClient(app, "https://127.0.0.1:1/clip.mp4").get("manifest.m3u8")
    assert (answer.status_code, answer.json()["error"]) == (400, "fetch_refused")


# --- tokens -------------------------------------------------------------------------------------


async def sign(app: AppHarness, body: dict[str, Any]) -> str:
    answer = await app.client.post("/api/v1/url-token", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


def holding(app: AppHarness, token: str | None) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(app.asgi)
    return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)


@pytest.mark.spec("5")
@pytest.mark.parametrize("is_folded", [True, False])
async def test_one_token_opens_all_of_a_source_and_nothing_else(
    player: PlayerClient, server: ClipServer, is_folded: bool
) -> None:
    base = f"{BASE_URL}{ROUTE}"
    body: dict[str, Any] = {"url": base, "params": {"url": player.url}}
    token = await sign(player.kiln, {"url": f"{base}?url={player.url}"} if is_folded else body)
    async with holding(player.kiln, token) as client:
        for path in ("manifest.m3u8", "manifest.json", "high/playlist.m3u8", "high/init.m4s"):
            answer = await client.get(f"{ROUTE}/{path}", params={"url": player.url})
            assert answer.status_code == 200, path
        segment = await client.get(f"{ROUTE}/high/1.m4s", params={"url": player.url})
        assert segment.content == await player.bytes("high/1.m4s")
        for other in (server.address("silent.mp4"), f"file-id:{uuid4()}"):
            refused = await client.get(f"{ROUTE}/manifest.m3u8", params={"url": other})
            assert refused.status_code == 401


@pytest.mark.spec("5")
@pytest.mark.parametrize("token", [None, "a.b.c"])
async def test_without_a_token_every_route_is_refused(
    player: PlayerClient, token: str | None
) -> None:
    async with holding(player.kiln, token) as client:
        for path in ("manifest.m3u8", "manifest.json", "high/init.m4s", "high/1.m4s", "presets"):
            answer = await client.get(f"{ROUTE}/{path}", params={"url": player.url})
            assert answer.status_code == 401


async def test_each_organization_fetches_a_source_itself(
    player: PlayerClient, server: ClipServer
) -> None:
    await player.bytes("high/1.m4s")
    before = server.request_count("clip.mp4")
    stranger = PlayerClient(await player.kiln.other_organization(), player.url)
    assert await stranger.bytes("high/1.m4s") == await player.bytes("high/1.m4s")
    assert server.request_count("clip.mp4") == before + 1
