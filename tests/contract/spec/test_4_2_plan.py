"""Clauses 2.4, 4.2 and beyond: what a video would be, and what a file holds, before any is made.

Sources lie on a server on loopback, which the operator's allow list names; another one is private.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip, make_still
from tests.support.receiver import Receiver
from tests.support.sample_sources import lottie, moving
from tests.support.videos import MediaServer, plain_config, template_body

pytestmark = pytest.mark.spec("2.4", "4.2")

PLAN = "/v2/videos/plan"
METADATA = "/v2/metadata"
LOTTIE = {"v": "5.5", "fr": 25, "ip": 0, "op": 50, "w": 200, "h": 100, "layers": []}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaServer]:
    folder = tmp_path_factory.mktemp("media")
    make_clip(folder / "clip.mp4", Clip(duration_s=Fraction(2)))
    make_clip(folder / "tone.m4a", Clip(video_codec=None, duration_s=Fraction(3)))
    make_still(folder / "photo.png", 1, width=400, height=200)
    (folder / "words.srt").write_text("1\n00:00:00,000 --> 00:00:01,000\nHello\n")
    (folder / "moves.json").write_text(json.dumps(LOTTIE))
    (folder / "text.txt").write_text("nothing to see")
    with MediaServer(folder) as running:
        yield running


@pytest.fixture(scope="module")
def app_options(host: MediaServer) -> dict[str, Any]:
    return {"fetch_allow": frozenset({f"127.0.0.1:{host.port}"})}


async def plan(app: AppHarness, config: Any) -> dict[str, Any]:
    answer = await app.client.post(PLAN, json={"config": config})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def issues(app: AppHarness, config: Any) -> list[tuple[str, str, str]]:
    answer = await app.client.post(PLAN, json={"config": config})
    assert answer.status_code == 422, answer.text
    return [(each["path"], each["code"], each["hint"]) for each in answer.json()["issues"]]


async def test_a_plan_has_times_boxes_and_sources_and_stores_nothing_else(
    app: AppHarness, host: MediaServer
) -> None:
    before = await app.count_stored()
    config = {
        "dimensions": {"width": 640, "height": 360},
        "fps": 25,
        "layers": [
            {
                "id": "clip",
                "type": "video",
                "file": host.url("/clip.mp4"),
                "timeline": {"start": 1},
                "trim": {"start": 0.5},
                "position": {"x": "center", "y": 10},
            },
            {
                "id": "photo",
                "type": "image",
                "file": host.url("/photo.png"),
                "size": {"width": 320, "height": 180, "format": "fit"},
                "position": {"x": 0, "y": 0, "angle": 90, "origin": "top left", "z": 2},
            },
            {"id": "words", "type": "subtitles", "file": host.url("/words.srt")},
            {"id": "moves", "type": "lottie", "file": host.url("/moves.json")},
            {"id": "tone", "type": "audio", "file": host.url("/tone.m4a"), "trim": {"end": 2}},
            {"id": "title", "type": "text", "text": {"text": "Hi", "fontSize": 40}},
        ],
    }
    found = await plan(app, config)
    assert found["dimensions"] == {"width": 640, "height": 360}
    assert (found["duration"], found["fps"], found["frame_count"]) == (2.5, 25, 63)
    layers = {layer["id"]: layer for layer in found["layers"]}
    clip = layers["clip"]
    assert (clip["start"], clip["end"], clip["first_frame"], clip["end_frame"]) == (1, 2.5, 25, 63)
    assert (clip["box"]["x"], clip["box"]["y"]) == (160, 10)
    assert (clip["box"]["width"], clip["box"]["height"]) == (320, 240)
    assert (clip["path"], clip["type"]) == ("layers.0", "video")
    corners = [[0, 0], [0, 320], [-180, 320], [-180, 0]]
    for point, expected in zip(layers["photo"]["box"]["corners"], corners, strict=True):
        assert point == pytest.approx(expected, abs=0.01)
    assert layers["title"]["box"]["is_estimated"] is True
    assert clip["box"]["is_estimated"] is False
    assert [layer["id"] for layer in found["layers"]][-1] == "photo", "z decides who is on top"
    assert {sound["layer"]: (sound["start"], sound["end"]) for sound in found["sounds"]} == {
        "clip": (1, 2.5),
        "tone": (0, 2),
    }
    source = found["sources"][host.url("/clip.mp4")]
    assert (source["width"], source["height"], source["duration"]) == (320, 240, 2)
    assert (source["codec"], source["fps"], source["has_sound"]) == ("h264", 30, True)
    moves = found["sources"][host.url("/moves.json")]
    assert (moves["width"], moves["height"], moves["duration"]) == (200, 100, 2)
    assert found["parsed_config"]["layers"][0]["trim"]["start"] == 0.5
    assert found["digest"].startswith("sha256:")
    # Sources were fetched; nothing else was kept.
    renders, blobs = await app.count_stored()
    assert (renders, blobs) == (before[0], before[1] + 5)


async def test_size_and_duration_default_to_those_of_the_only_source(
    app: AppHarness, host: MediaServer
) -> None:
    config = {"layers": [{"id": "v", "type": "video", "file": host.url("/clip.mp4")}]}
    found = await plan(app, json.dumps(config))
    assert found["dimensions"] == {"width": 320, "height": 240}
    assert found["duration"] == 2


async def test_animated_images_last_as_long_as_in_the_film(
    app: AppHarness, host: MediaServer
) -> None:
    moving(host.folder / "moving.gif", "GIF")
    lottie(host.folder / "no-ip.json", ip=None)
    layers = [
        {"type": "image", "file": host.url("/moving.gif")},
        {"type": "lottie", "file": host.url("/no-ip.json"), "timeline": {"start": 1}},
    ]
    found = await plan(app, plain_config(layers=layers, duration=None))
    assert found["duration"] == 2
    gif = found["sources"][host.url("/moving.gif")]
    assert (gif["duration"], gif["fps"], gif["width"]) == (0.6, 5, 60)
    assert found["sources"][host.url("/no-ip.json")]["duration"] == 1


async def test_a_plan_has_warnings_of_the_config_and_of_the_timeline(
    app: AppHarness, host: MediaServer
) -> None:
    layers = [
        {
            "id": "v",
            "type": "video",
            "file": host.url("/clip.mp4"),
            "trim": {"start": 0, "end": 9},
            "volume": 1,
        }
    ]
    found = await plan(app, plain_config(layers=layers))
    codes = {each["path"]: each["code"] for each in found["warnings"]}
    assert codes["layers.0.volume"] == "unknown_field"
    assert any(path.startswith("layers.0.trim") for path in codes)


async def test_unusable_sources_are_reported_with_their_layers(
    app: AppHarness, host: MediaServer
) -> None:
    with Receiver() as private:
        layers = [
            {"id": "a", "type": "video", "file": host.url("/missing.mp4")},
            {"id": "b", "type": "image", "file": host.url("/text.txt")},
            {"id": "c", "type": "image", "file": private.url("/secret.png")},
            {"id": "d", "type": "video", "file": host.url("/tone.m4a")},
            {"id": "e", "type": "audio", "file": host.url("/photo.png")},
        ]
        found = await issues(app, plain_config(layers=layers))
        assert private.requests == []
    assert [(path, code) for path, code, _ in found] == [
        ("layers.0.file", "asset_unreachable"),
        ("layers.1.file", "asset_unsupported"),
        ("layers.2.file", "asset_unreachable"),
        ("layers.3.file", "asset_unsupported"),
        ("layers.4.file", "asset_unsupported"),
    ]
    assert "404" in found[0][2]
    assert "layer a" in found[0][2]
    assert "is not a public host" in found[2][2]
    assert "FRAMEKILN_FETCH_ALLOW" in found[2][2]


async def test_on_error_and_fallback_replace_an_unusable_source(
    app: AppHarness, host: MediaServer
) -> None:
    layers = [
        {"id": "a", "type": "image", "file": host.url("/missing.png"), "onError": "skip"},
        {
            "id": "b",
            "type": "image",
            "file": host.url("/missing.png"),
            "fallbackFile": host.url("/photo.png"),
        },
    ]
    found = await plan(app, plain_config(layers=layers))
    assert [(layer["id"], layer["file"]) for layer in found["layers"]] == [
        ("b", host.url("/photo.png"))
    ]
    assert found["sources"][host.url("/missing.png")]["error"]["code"] == "asset_unreachable"
    assert found["warnings"][0]["code"] == "asset_unreachable"


async def test_a_wrong_config_is_rejected_before_anything_is_fetched(
    app: AppHarness, host: MediaServer
) -> None:
    asked = len(host.requests)
    layers = [{"type": "video", "file": host.url("/never.mp4"), "trim": {"start": "x"}}]
    found = await issues(app, plain_config(layers=layers))
    assert found[0][:2] == ("layers.0.trim.start", "type")
    assert len(host.requests) == asked


@pytest.mark.parametrize("is_uploaded", [False, True])
async def test_metadata_describes_video_audio_and_image(
    app: AppHarness, host: MediaServer, *, is_uploaded: bool
) -> None:
    async def look(name: str, type_: str) -> dict[str, Any]:
        parts: dict[str, Any] = {"type": (None, type_)}
        if is_uploaded:
            parts["file"] = (name, (host.folder / name).read_bytes())
        else:
            parts["url"] = (None, host.url(f"/{name}"))
        answer = await app.client.post(METADATA, files=parts)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    video = await look("clip.mp4", "video")
    assert set(video) == {"bitrate", "codec", "duration", "fps", "height", "size", "width"}
    assert (video["codec"], video["duration"], video["fps"]) == ("h264", 2, 30)
    assert (video["width"], video["height"]) == (320, 240)
    assert video["bitrate"] == round(8 * video["size"] / 2)
    audio = await look("tone.m4a", "audio")
    assert (audio["codec"], audio["samplerate"], audio["duration"]) == ("aac", 48_000, 3)
    image = await look("photo.png", "image")
    size = image.pop("size")
    assert image == {"codec": "png", "width": 400, "height": 200}
    assert size > 0


WRONG_LOOKS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no type": ({"url": "https://a.example/b"}, "type", "required"),
    "another type": ({"type": "page", "url": "https://a.example/b"}, "type", "out_of_range"),
    "a type that is no text": ({"type": [1], "url": "https://a.example/b"}, "type", "out_of_range"),
    "nothing to look at": ({"type": "video"}, "url", "required"),
    "no URL": ({"type": "video", "url": "clip.mp4"}, "url", "not_url"),
    "a local file": ({"type": "video", "url": "file:///etc/passwd"}, "url", "remote_url_required"),
    "a private address": (
        {"type": "image", "url": "https://10.0.0.1/a"},
        "url",
        "asset_unreachable",
    ),
}


@pytest.mark.parametrize("case", WRONG_LOOKS)
async def test_metadata_requests_that_cannot_be_answered_are_refused(
    app: AppHarness, case: str
) -> None:
    sent, path, code = WRONG_LOOKS[case]
    answer = await app.client.post(METADATA, json=sent)
    assert answer.status_code == 422, answer.text
    issue = answer.json()["issues"][0]
    assert (issue["path"], issue["code"]) == (path, code)


@pytest.mark.parametrize(
    ("name", "type_", "path"),
    [
        ("text.txt", "video", "url"),
        ("text.txt", "image", "url"),
        ("tone.m4a", "video", "type"),
        ("missing.mp4", "video", "url"),
    ],
)
async def test_metadata_of_another_type_is_refused_with_a_path(
    app: AppHarness, host: MediaServer, name: str, type_: str, path: str
) -> None:
    answer = await app.client.post(METADATA, json={"type": type_, "url": host.url(f"/{name}")})
    assert answer.status_code == 422, answer.text
    assert answer.json()["issues"][0]["path"] == path


async def test_rules_check_the_media_of_an_input(app: AppHarness, host: MediaServer) -> None:
    body = template_body(
        inputs={"source": "required|media:video|duration_max:2.5"},
        default_values={"source": host.url("/clip.mp4")},
    )
    created = await app.client.post("/v2/templates", json=body)
    assert created.status_code == 201, created.text
    path = f"/v2/templates/{created.json()['data']['id']}/render"

    async def refused(url: str) -> str:
        answer = await app.client.post(path, json={"data": {"source": url}})
        assert answer.status_code == 422, answer.text
        assert answer.json()["issues"][0]["path"] == "data.source"
        return str(answer.json()["issues"][0]["code"])

    assert await refused(host.url("/tone.m4a")) == "asset_unsupported"
    assert await refused(host.url("/text.txt")) == "asset_unsupported"
    assert await refused(host.url("/missing.mp4")) == "asset_unreachable"
    good = await app.client.post(path, json={"data": {"source": host.url("/clip.mp4")}})
    assert good.status_code == 201, good.text


async def test_a_frame_of_an_invalid_config_is_refused(app: AppHarness) -> None:
    for sent, path in (
        ({}, "config"),
        ({"config": {}}, "dimensions"),
        ({"config": plain_config(), "t": "x"}, "t"),
        ({"config": plain_config(), "t": -1}, "t"),
        ({"config": plain_config(), "t": 2}, "t"),
        ({"config": plain_config(), "format": "bmp"}, "format"),
    ):
        answer = await app.client.post("/v2/videos/frame", json=sent)
        assert answer.status_code == 422, answer.text
        assert answer.json()["issues"][0]["path"] == path
