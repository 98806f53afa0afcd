"""What the three manifests say of the same source."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from fractions import Fraction
from urllib.parse import parse_qs, urlsplit

import m3u8
import pytest

from framekiln.media.segments.renditions import Outline, Rendition, RenditionSize
from framekiln.playback.manifests import dash, hls, json_manifest
from framekiln.playback.manifests.links import ManifestLinks

URL = "https://cdn.example/a clip.mp4?a=1&b=2#part"
LINKS = ManifestLinks(URL)
HIGH = Rendition(
    id="high",
    is_copy=True,
    codecs="avc1.64001f",
    timescale=24000,
    bounds=(0, 48048, 144144, 240240, 264264),
    init=b"",
    peak_bits_per_s=2_000_000,
    mean_bits_per_s=1_500_000,
    size=RenditionSize(1280, 720),
    fps=Fraction(24000, 1001),
)
LOW = replace(HIGH, id="480p", size=RenditionSize(854, 480), peak_bits_per_s=900_000, is_copy=False)
SCRUB = replace(LOW, id="scrub", size=RenditionSize(320, 180))
SOUND = Rendition(
    id="audio",
    is_copy=False,
    codecs="mp4a.40.2",
    timescale=48000,
    bounds=(0, 96256, 288768, 528384),
    init=b"",
    peak_bits_per_s=240_000,
    mean_bits_per_s=160_000,
    channels=2,
    rate_hz=48000,
    language="pt-br",
)
BOTH = Outline((HIGH, LOW, SCRUB, SOUND))
SILENT = Outline((HIGH, SCRUB))
HEARD = Outline((SOUND,))
MPD = {"d": "urn:mpeg:dash:schema:mpd:2011"}


def test_hls_lists_renditions_and_their_sound() -> None:
    parsed = m3u8.loads(hls.multivariant_playlist(BOTH, LINKS))
    assert parsed.is_independent_segments
    assert parsed.version == 7
    facts = [each.stream_info for each in parsed.playlists]
    assert [each.resolution for each in facts] == [(1280, 720), (854, 480)]
    assert [each.bandwidth for each in facts] == [2_240_000, 1_140_000]
    assert [each.average_bandwidth for each in facts] == [1_660_000, 1_660_000]
    assert {each.codecs for each in facts} == {"avc1.64001f,mp4a.40.2"}
    assert {each.frame_rate for each in facts} == {23.976}
    (sound,) = parsed.media
    assert {each.audio for each in facts} == {sound.group_id}
    assert (sound.type, sound.channels, sound.default) == ("AUDIO", "2", "YES")
    assert sound.language == "pt-br"
    quiet = hls.multivariant_playlist(Outline((HIGH, replace(SOUND, language=None))), LINKS)
    assert "LANGUAGE" not in quiet
    assert urlsplit(sound.uri).path == "audio/playlist.m3u8"


def test_hls_of_one_track_has_no_group() -> None:
    silent = m3u8.loads(hls.multivariant_playlist(SILENT, LINKS))
    assert silent.media == []
    assert [each.stream_info.codecs for each in silent.playlists] == ["avc1.64001f"]
    heard = m3u8.loads(hls.multivariant_playlist(HEARD, LINKS))
    assert heard.media == []
    assert [each.stream_info.codecs for each in heard.playlists] == ["mp4a.40.2"]
    assert heard.playlists[0].stream_info.resolution is None


def test_hls_lists_segments() -> None:
    parsed = m3u8.loads(hls.media_playlist(HIGH, LINKS))
    assert (parsed.playlist_type, parsed.is_endlist) == ("vod", True)
    assert parsed.target_duration == 5
    assert [each.duration for each in parsed.segments] == [2.002, 4.004, 4.004, 1.001]
    assert [urlsplit(each.uri).path for each in parsed.segments] == [
        f"{n}.m4s" for n in range(1, 5)
    ]
    assert urlsplit(parsed.segment_map[0].uri).path == "init.m4s"


def test_what_is_read_by_a_link_does_not_name_the_source() -> None:
    links = ManifestLinks(URL, link_url="https://kiln.example/l/token")
    body = json_manifest.json_manifest(BOTH, links, public_url="https://kiln.example")
    assert body["baseUrl"] == "https://kiln.example/l/token"
    assert body["endpoints"]["initSegment"] == f"{body['baseUrl']}/{{rendition}}/init.m4s"
    texts = [
        hls.multivariant_playlist(BOTH, links),
        hls.media_playlist(SOUND, links),
        dash.dash_manifest(BOTH, links),
        str(body),
    ]
    assert not any("url=" in text or URL in text for text in texts)
    assert "1.m4s" in texts[1].splitlines()


@pytest.mark.parametrize("token", [None, "a.b.c"])
def test_every_address_names_the_source_and_repeats_the_token(token: str | None) -> None:
    links = ManifestLinks(URL, token)
    playlists = [
        m3u8.loads(hls.multivariant_playlist(BOTH, links)),
        m3u8.loads(hls.media_playlist(SOUND, links)),
    ]
    endpoints = json_manifest.json_manifest(BOTH, links, public_url="https://kiln.example/")[
        "endpoints"
    ].values()
    root = ET.fromstring(dash.dash_manifest(BOTH, links))
    templates = root.findall(".//d:SegmentTemplate", MPD)
    addresses = [
        *(each.uri for each in playlists[0].playlists + playlists[0].media),
        *(each.uri for each in playlists[1].segments),
        *endpoints,
        *(each.attrib["media"] for each in templates),
    ]
    expected = {"url": [URL]} | ({"media_token": [token]} if token else {})
    for address in addresses:
        assert parse_qs(urlsplit(address).query) == expected
        assert not urlsplit(address).fragment


def test_dash_has_a_timeline_for_each_rendition() -> None:
    root = ET.fromstring(dash.dash_manifest(BOTH, LINKS))
    assert root.attrib["type"] == "static"
    assert root.attrib["mediaPresentationDuration"] == "PT11.011000S"
    sets = root.findall(".//d:AdaptationSet", MPD)
    assert [each.attrib["mimeType"] for each in sets] == ["video/mp4", "audio/mp4"]
    assert [each.attrib.get("lang") for each in sets] == [None, "pt-br"]
    found = {
        each.attrib["id"]: [
            (int(s.attrib["d"]), int(s.attrib.get("r", 0))) for s in each.findall(".//d:S", MPD)
        ]
        for each in root.findall(".//d:Representation", MPD)
    }
    assert found["high"] == found["480p"] == [(48048, 0), (96096, 1), (24024, 0)]
    assert found["audio"] == [(96256, 0), (192512, 0), (239616, 0)]


def test_dash_declares_segments_that_do_not_begin_together() -> None:
    apart = Outline((replace(HIGH, bounds=(0, 264264)), LOW))
    text = dash.dash_manifest(apart, LINKS)
    assert 'segmentAlignment="false"' in text
    assert 'segmentAlignment="true"' in dash.dash_manifest(SILENT, LINKS)


def test_json_has_the_fields_that_players_read() -> None:
    manifest = json_manifest.json_manifest(BOTH, LINKS, public_url="https://kiln.example")
    assert manifest["sourceUrl"] == URL
    assert (manifest["durationMs"], manifest["duration"], manifest["version"]) == (
        11011,
        11.011,
        "1.0",
    )
    assert [each["id"] for each in manifest["videoRenditions"]] == ["high", "480p", "scrub"]
    high = manifest["videoRenditions"][0]
    assert high["segmentDurationsMs"] == [2002, 4004, 4004, 1001]
    assert (high["width"], high["height"], high["codec"]) == (1280, 720, "avc1.64001f")
    assert (high["profile"], high["level"]) == ("High", "3.1")
    assert high["mimeType"] == 'video/mp4; codecs="avc1.64001f"'
    (sound,) = manifest["audioRenditions"]
    assert (sound["id"], sound["channels"], sound["sampleRate"]) == ("audio", 2, 48000)
    assert sound["language"] == "pt-br"
    for template in manifest["endpoints"].values():
        assert template.startswith("https://kiln.example/api/v1/transcode/{rendition}/")
    assert "{segmentId}" in manifest["endpoints"]["mediaSegment"]
    assert manifest["jitInfo"]["segmentCount"] == manifest["jitInfo"]["scrubSegmentCount"] == 4


def test_json_of_one_track_has_an_empty_list() -> None:
    assert json_manifest.json_manifest(SILENT, LINKS, public_url="")["audioRenditions"] == []
    heard = json_manifest.json_manifest(HEARD, LINKS, public_url="")
    assert heard["videoRenditions"] == []
    assert heard["jitInfo"]["scrubSegmentCount"] == 0
    unknown = Outline((replace(SOUND, language=None),))
    (sound,) = json_manifest.json_manifest(unknown, LINKS, public_url="")["audioRenditions"]
    assert sound["language"] == "und"
