"""`framekiln preview`: frames, sound, edits and films, asked over HTTP."""

import asyncio
import json
import os
import random
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.cli.preview import LocalComposition
from framekiln.engine.film import open_renderer
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.preview.frame_cache import FrameCache
from framekiln.preview.frame_thread import FrameThread
from framekiln.preview.model import FilmChoice
from framekiln.settings import Settings
from tests.support.clips import Clip, make_clip
from tests.support.examples import EXAMPLES, Example
from tests.support.looks import decode_frames
from tests.support.previews import (
    PORT,
    PreviewClient,
    asked_frames,
    differing_frames,
    frames_unlike_film,
    open_preview,
)
from tests.support.sounds import decode_audio
from tests.support.timeouts import FILM_LIMITS, TIMEOUT_S

PAGE = """<!doctype html><html><head><link rel="stylesheet" href="look.css"></head><body>
<ef-timegroup mode="sequence" class="film" fps="10">
  <ef-timegroup id="first" mode="fixed" duration="1s"><ef-text id="hello">Hello</ef-text>
  </ef-timegroup>
  <ef-timegroup id="second" mode="fixed" duration="1s"></ef-timegroup>
</ef-timegroup></body></html>"""
LOOK = "body {margin: 0} .film {width: 160px; height: 90px; background: %s} #hello {opacity: 0}"
SCRIPTED = """<!doctype html><html data-width=160 data-height=90 data-fps=10 data-duration-ms=2000>
<body style="margin:0"><canvas width=160 height=90></canvas><script>
const context = document.querySelector("canvas").getContext("2d");
let shown = 0;
const draw = () => {
  context.fillStyle = `rgb(${shown * 10}, ${EF_RENDER_DATA.green}, 0)`;
  context.fillRect(0, 0, 160, 90);
  console.log("frame", shown++);
  requestAnimationFrame(draw);
};
requestAnimationFrame(draw);
const audio = new AudioContext();
const tone = new OscillatorNode(audio, {frequency: 1000});
tone.connect(audio.destination);
tone.start(0.5);
tone.stop(0.7);
</script>"""

FOOTAGE = """<!doctype html><style>@keyframes enter {from {translate: -40px}}
ef-video, p {position: absolute; margin: 0} p {left: 20px; top: 120px; font: 30px Liberation Sans;
color: teal; animation: enter 3s both linear} </style>
<ef-timegroup mode="fixed" duration="6s" fps="10" style="width: 320px; height: 180px">
<ef-video src="clip.mp4" style="left: 0; top: 0; width: 320px; height: 180px"></ef-video>
<p>Over it</p></ef-timegroup>"""

MANY = int(os.environ.get("FRAMEKILN_TEST_PREVIEW_FRAMES", "0"))
"""So many frames of every example are compared; if it is not set, a few of some examples."""
RUNS = 10


def mixed_up(count: int) -> list[int]:
    """Return the first numbers in rising runs with gaps: each run is a jump back, which is slow."""
    chosen = random.Random(1).sample(range(count), count)
    return [number for run in range(RUNS) for number in sorted(chosen[run::RUNS])]


NUMBERS = mixed_up(MANY) or (1, 5, 2, 3, 6)
FEW: dict[str, Any] = {"fps": Fraction(10), "duration_ms": 1000}
"""So much of a page has these frames; a composed film is read as a whole before its first one."""


# One of each kind: text, footage, sound, data, canvas, WebGL, pictures in sequence, both configs.
KINDS = {
    "title",
    "lower-third",
    "audiogram",
    "bar-chart",
    "particles",
    "shader",
    "slideshow",
    "greeting",
    "picture-in-picture",
}
PREVIEWED = [each for each in EXAMPLES if MANY or each.name in KINDS]


@pytest.fixture(scope="module")
def frames() -> Iterator[FrameThread]:
    """One browser for the previews of all examples."""
    thread = FrameThread(FrameCache(), FILM_LIMITS)
    yield thread
    thread.close()


@pytest.fixture(scope="module")
async def page(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PreviewClient]:
    """A page with a style of its own, which tests edit."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "index.html").write_text(PAGE)
    (folder / "look.css").write_text(LOOK % "#f00")
    async with open_preview(folder / "index.html", folder) as client:
        yield client


def folder_of(client: PreviewClient) -> Path:
    return client.preview.films.folder


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("example", PREVIEWED, ids=lambda example: example.name)
def test_frames_are_those_of_the_film(
    example: Example, frames: FrameThread, browser: Browser, tmp_path: Path
) -> None:
    reader = LocalComposition(example.path, FilmOrder(), Settings())
    order = reader.read(None, FilmChoice(), tmp_path).order
    if not MANY and order.layers is None:
        order = replace(order, **FEW)
    made = asked_frames(example.path, order, frames, NUMBERS)
    assert differing_frames(order, made, browser) == []
    if MANY and order.layers is None:
        assert frames_unlike_film(order, made, browser, tmp_path) == []


def test_frames_of_a_composed_film_are_those_that_it_encodes(
    frames: FrameThread, browser: Browser, tmp_path: Path
) -> None:
    """Asked for behind and ahead, in both of its slices, and back from the second to the first."""
    clip = Clip(width=320, height=180, fps=Fraction(10), duration_s=Fraction(6))
    make_clip(tmp_path / "clip.mp4", clip)
    path = tmp_path / "page.html"
    path.write_text(FOOTAGE)
    asked = FilmOrder(page_method=PageMethod.COMPOSED)
    order = LocalComposition(path, asked, Settings()).read(None, FilmChoice(), tmp_path).order
    made = asked_frames(path, order, frames, (23, 4, 5, 13, 2, 59, 39, 40, 41))
    assert frames_unlike_film(order, made, browser, tmp_path) == []
    with open_renderer(order, browser, FILM_LIMITS) as renderer:
        drawn = renderer.render_frame(23, is_exact=False)
        composed = renderer.render_frame(23)
        assert not np.array_equal(drawn, composed)
        assert np.abs(drawn[..., :3].astype(int) - composed[..., :3]).mean() < 1


async def test_tracks_are_the_timed_elements(page: PreviewClient) -> None:
    found = await page.composition()
    tracks = [(each["kind"], each["name"], each["depth"]) for each in found["tracks"]]
    assert tracks == [
        ("group", "ef-timegroup", 0),
        ("group", "first", 1),
        ("text", "hello", 2),
        ("group", "second", 1),
    ]
    times = [(each["start_ms"], each["end_ms"]) for each in found["tracks"]]
    assert times == [(0, 2000), (0, 1000), (0, 1000), (1000, 2000)]
    assert (found["fps"], found["frame_count"], found["has_sound"]) == ("10/1", 20, False)


async def test_an_edit_makes_a_new_version(page: PreviewClient) -> None:
    before = (await page.composition())["version"]
    (folder_of(page) / "look.css").write_text(LOOK % "#00f")
    await page.until(lambda found: found["version"] != before)
    assert tuple((await page.picture(3))[45, 80]) == (0, 0, 255)
    old = await page.http.get(f"/frames/{before}/3")
    assert old.status_code == 404


async def test_a_broken_edit_keeps_the_last_version_and_mends_itself(page: PreviewClient) -> None:
    before = (await page.composition())["version"]
    assert (await page.http.get(f"/frames/{before}/4")).status_code == 200
    index = folder_of(page) / "index.html"
    index.write_text(PAGE.replace("</body>", "<script>\n\nnothing.here</script></body>"))
    broken = await page.until(lambda found: found["error"] is not None)
    assert broken["version"] == before
    assert (broken["error"]["file"], broken["error"]["line"]) == ("index.html", 8)
    assert "nothing is not defined" in broken["error"]["message"]
    assert (await page.http.get(f"/frames/{before}/4")).status_code == 200
    refused = await page.http.post("/render", json={"format": "mp4"})
    assert refused.status_code == 409
    index.write_text(PAGE)
    mended = await page.until(lambda found: found["error"] is None)
    assert mended["version"] != before


async def test_requests_for_other_hosts_or_of_other_origins_are_refused(
    page: PreviewClient,
) -> None:
    rebound = await page.http.get("/composition", headers={"Host": "evil.example:8600"})
    assert rebound.status_code == 403
    foreign = {"Origin": "http://evil.example"}
    for method, path in (("PUT", "/data"), ("POST", "/render"), ("DELETE", "/films/1")):
        answer = await page.http.request(method, path, json={}, headers=foreign)
        assert answer.status_code == 403
    embedded = {"Sec-Fetch-Site": "cross-site"}
    assert (await page.http.get("/composition", headers=embedded)).status_code == 403
    form = {"Content-Type": "text/plain"}
    assert (await page.http.put("/data", content=b"{}", headers=form)).status_code == 400


async def test_a_browser_without_the_token_sees_nothing(page: PreviewClient) -> None:
    url = page.access.url.partition("/?")[0]
    cookie = f"framekiln_preview_{PORT}"
    async with httpx.AsyncClient(transport=page.transport, base_url=url) as stranger:
        for path in ("/", "/composition", "/events", "/?token=x", f"/?token={'x' * 43}"):
            assert (await stranger.get(path)).status_code == 403, path
        for value in ("x", "", '"'):
            answer = await stranger.get("/composition", headers={"Cookie": f"{cookie}={value}"})
            assert answer.status_code == 403
        entered = await stranger.get(page.access.url)
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert (await stranger.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/frames/none/0", None, 404),
        ("GET", "/frames/{version}/20", None, 404),
        ("GET", "/frames/{version}/0?format=bmp", None, 400),
        ("GET", "/films/77", None, 404),
        ("GET", "/studio/assets/..%2f__init__.py", None, 404),
        ("PUT", "/data", "[]", 400),
        ("PUT", "/data", "{", 400),
        ("PUT", "/data", '{"a": "' + "x" * (1 << 20) + '"}', 413),
        ("POST", "/render", '{"format": "exe"}', 400),
        ("POST", "/render", '{"preset": "best"}', 400),
        ("POST", "/render", '{"format": "png", "frame": "0"}', 400),
        ("POST", "/render", '{"format": "png", "frame": 20}', 404),
    ],
)
async def test_bad_requests_are_refused(
    page: PreviewClient, method: str, path: str, body: str | None, status: int
) -> None:
    version = (await page.composition())["version"]
    answer = await page.http.request(
        method,
        path.replace("{version}", version),
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == status
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_a_page_with_scripts_has_data_console_sound_and_films(tmp_path: Path) -> None:
    path = tmp_path / "scripted.html"
    path.write_text(SCRIPTED)
    async with open_preview(path, tmp_path, {"green": 0}) as client:
        # Frames depend on those before them, also when one behind is asked for.
        for number in (7, 2):
            assert tuple((await client.picture(number))[45, 80]) == (10 * number, 0, 0)
        found = await client.composition()
        # The page was opened again for the frame behind, and its console with it.
        written = [{"level": "info", "text": f"frame {number}"} for number in range(3)]
        assert found["console"] == written
        assert not found["is_declarative"]

        changed = await client.http.put("/data", json={"green": 200})
        assert changed.json()["data"] == {"green": 200}
        assert tuple((await client.picture(2))[45, 80]) == (20, 200, 0)

        version = changed.json()["version"]
        (tmp_path / "preview.wav").write_bytes((await client.http.get(f"/sound/{version}")).content)
        begun = await client.http.post("/render", json={"format": "mp4", "preset": "draft"})
        assert begun.status_code == 202
        assert (await client.http.post("/render", json={})).status_code == 409
        done = await client.until(lambda found: found["film"]["state"] != "rendering")
        assert done["film"] | {"message": None} == {
            "id": 1,
            "name": "scripted.mp4",
            "state": "complete",
            "done": 20,
            "count": 20,
            "message": None,
        }
        # The composition is still the one that was changed: films do not count as edits.
        assert done["version"] == version
        film = await client.http.get("/films/1")
        assert film.content == (tmp_path / "scripted.mp4").read_bytes()
    assert len(decode_frames(tmp_path / "scripted.mp4")) == 20
    sounds = [decode_audio(tmp_path / name) for name in ("preview.wav", "scripted.mp4")]
    onsets = [np.flatnonzero(np.abs(each.mono) > 0.1)[0] / each.rate_hz for each in sounds]
    assert abs(onsets[0] - onsets[1]) < 0.01
    assert abs(onsets[0] - 0.5) < 0.01


@pytest.fixture(scope="module")
async def long_page(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PreviewClient]:
    """A page with scripts that lasts an hour: nothing of it is over before it is given up."""
    folder = tmp_path_factory.mktemp("long")
    path = folder / "long.html"
    path.write_text(SCRIPTED.replace("data-duration-ms=2000", "data-duration-ms=3600000"))
    async with open_preview(path, folder, {"green": 0}) as client:
        yield client


async def test_a_film_is_cancelled_and_nothing_is_left(long_page: PreviewClient) -> None:
    await long_page.http.post("/render", json={"format": "webm"})
    await long_page.until(lambda found: found["film"]["done"] > 0)
    assert (await long_page.http.delete("/films/1")).status_code == 204
    await long_page.until(lambda found: found["film"]["state"] == "cancelled")
    saved = await long_page.http.post("/render", json={"format": "png", "frame": 1})
    assert saved.json()["name"] == "long.png"
    assert names_in(folder_of(long_page)) == ["long.html", "long.png"]


async def test_nobody_waits_for_a_frame_that_was_given_up(long_page: PreviewClient) -> None:
    version = (await long_page.composition())["version"]
    far = asyncio.create_task(long_page.preview.frame(version, (35_999, "jpeg")))
    await asyncio.sleep(0)
    far.cancel()
    async with asyncio.timeout(TIMEOUT_S):
        await long_page.preview.frame(version, (2, "jpeg"))
    assert far.cancelled()


@pytest.mark.parametrize("line", [1, 2, 3])
def test_frames_can_be_closed_at_any_moment(line: int) -> None:
    """The thread begins to wait at the moment in which it is closed."""
    closed, lines = threading.Event(), 0

    def close(frames: FrameThread) -> None:
        frames.close()
        closed.set()

    def close_at_line(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        if frame.f_code is not FrameThread._run.__code__:
            return None
        lines += event == "line"
        if event == "line" and lines == line:
            frames: FrameThread = frame.f_locals["self"]
            threading.Thread(target=close, args=(frames,), daemon=True).start()
            while not is_closing(frames):
                pass
        return close_at_line

    threading.settrace(close_at_line)
    try:
        FrameThread(FrameCache(), FILM_LIMITS)
        assert closed.wait(TIMEOUT_S)
    finally:
        threading.settrace(None)


def is_closing(frames: FrameThread) -> bool:
    with frames._changed:
        return frames._is_closing


async def test_a_template_is_filled_and_its_errors_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    card = {
        "config": {
            "dimensions": {"width": 160, "height": 90},
            "duration": 1,
            "fps": 10,
            "layers": [{"type": "text", "text": {"text": "{{ name }}"}}],
        },
        "inputs": {"name": "string"},
        "default_values": {"name": "Ada"},
    }
    path.write_text(json.dumps(card))
    async with open_preview(path, tmp_path) as client:
        found = await client.composition()
        assert found["error"] is None
        assert (found["kind"], found["data"]) == ("template", {"name": "Ada"})
        assert found["data_schema"] == {"name": "string"}
        assert [(each["kind"], each["name"]) for each in found["tracks"]] == [("text", "Ada")]
        before = await client.picture(5)
        await client.http.put("/data", json={"name": "Somebody else"})
        assert not np.array_equal(await client.picture(5), before)
        refused = await client.http.put("/data", json={"name": 5})
        assert refused.json()["error"]["code"] == "invalid_request"
        assert refused.json()["data"] == {"name": 5}
        path.write_text('{\n"config": {,}\n}')
        await client.until(lambda found: found["error"]["file"] == "card.json")
        assert (await client.composition())["error"]["line"] == 2
