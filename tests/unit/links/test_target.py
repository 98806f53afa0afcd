"""What a link covers: its address, and the segments of a stream."""

import pytest

from framekiln.identity.signatures.scope import read_scope
from framekiln.links.model import LinkTarget

TRANSCODE = "/api/v1/transcode/manifest.m3u8?url=https://cdn.example/a%20b.mp4"


def target_of(url: str) -> LinkTarget:
    return LinkTarget.of(read_scope(url), without="media_token")


@pytest.mark.parametrize(
    ("url", "rest", "path"),
    [
        ("/api/v1/renders/1.mp4", "1.mp4", "/api/v1/renders/1.mp4"),
        ("/v2/videos/1/download", "download", "/v2/videos/1/download"),
        ("/v2/videos/1/stream", "stream", "/v2/videos/1/stream"),
        ("/v2/videos/1/stream", "stream/picture.m3u8", "/v2/videos/1/stream/picture.m3u8"),
        ("/v2/videos/1/stream", "stream/sound/2.m4s", "/v2/videos/1/stream/sound/2.m4s"),
        ("/v2/videos/1/stream/sound.m3u8", "sound/2.m4s", "/v2/videos/1/stream/sound/2.m4s"),
        (TRANSCODE, "manifest.m3u8", "/api/v1/transcode/manifest.m3u8"),
        (TRANSCODE, "high/1.m4s", "/api/v1/transcode/high/1.m4s"),
        ("/api/v1/transcode/high/playlist.m3u8?url=x", "1.m4s", "/api/v1/transcode/high/1.m4s"),
    ],
)
def test_a_link_covers_its_address_and_its_segments(url: str, rest: str, path: str) -> None:
    assert target_of(url).find_path(rest) == path


@pytest.mark.parametrize(
    ("url", "rest"),
    [
        ("/api/v1/renders/1.mp4", ""),
        ("/api/v1/renders/1.mp4", "2.mp4"),
        ("/api/v1/renders/1.mp4", "1.mp4/more"),
        ("/api/v1/files/1/content", "index"),
        ("/api/v1/files/1", "1/content"),
        ("/v2/videos/1/stream", "download"),
        ("/v2/videos/1/stream", "stream/../download"),
        ("/v2/videos/1/stream", "../1/download"),
        ("/v2/videos/1/stream", "stream//picture.m3u8"),
        ("/v2/videos/1/stream", "streams"),
        ("/v2/videos/1/stream/sound.m3u8", "picture/2.m4s"),
        ("/v2/videos/1/stream/sound.m3u8", "sound"),
        ("/api/v1/transcode/high/playlist.m3u8?url=x", "../audio/1.m4s"),
        ("/api/v1/transcode/high/1.m4s?url=x", "2.m4s"),
    ],
)
def test_a_link_covers_nothing_else(url: str, rest: str) -> None:
    assert target_of(url).find_path(rest) is None


def test_a_link_keeps_the_query_of_its_address_without_tokens() -> None:
    target = target_of(f"{TRANSCODE}&media_token=secret")
    assert target.query == "url=https%3A%2F%2Fcdn.example%2Fa+b.mp4"
    assert target.address == f"/api/v1/transcode/manifest.m3u8?{target.query}"
    assert target_of("/v2/videos/1/download").address == "/v2/videos/1/download"
