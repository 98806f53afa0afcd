"""`framekiln render` of folders, bundles, formats, stills and data: what is in the pictures."""

import json
import tarfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from framekiln.cli import app
from tests.e2e.conftest import IN_THIS_PROCESS
from tests.support.clips import Clip, make_clip, make_still
from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.looks import colour_at, decode_frames, decode_still, measure_file
from tests.support.sounds import beep_times

pytestmark = pytest.mark.usefixtures("own_sigterm")

SIZE = 'data-width="320" data-height="240" data-fps="10"'


def render(*words: object, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["render", *map(str, words)], input=typed, env=IN_THIS_PROCESS)


def facts(*words: object) -> dict[str, Any]:
    """Render, and return what the command says of it."""
    result = render(*words, "--json")
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def write_site(
    folder: Path, page: str, files: Mapping[str, str | bytes] = MappingProxyType({})
) -> Path:
    """Write a page and the files beside it."""
    for name, content in {"index.html": page, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def test_video_and_sound_beside_a_page_are_exact(tmp_path: Path) -> None:
    """Plain elements and ours, each from its own place, under relative addresses."""
    clip = make_clip(tmp_path / "c.mp4", Clip(duration_s=Fraction(1))).read_bytes()
    page = """<ef-timegroup mode="contain" style="width:640px;height:240px;display:block">
      <ef-video src="media/clip.mp4" mute style="position:absolute;left:0;width:320px"></ef-video>
      <video src="./media/clip.mp4" style="position:absolute;left:320px;width:320px"></video>
      </ef-timegroup>"""
    site = write_site(tmp_path / "site", page, {"media/clip.mp4": clip})
    found = facts(site / "index.html", "-o", tmp_path / "a.mp4", "--fps", 15)
    assert (found["frames"], found["warnings"]) == (15, [])
    frames = [frame.rgb for frame in decode_frames(tmp_path / "a.mp4")]
    assert [read_frame_code(rgb[:, :320]) for rgb in frames] == list(range(0, 30, 2))
    assert [read_frame_code(rgb[:, 320:]) for rgb in frames] == list(range(0, 30, 2))
    assert [round(at_s, 2) for at_s in beep_times(tmp_path / "a.mp4")] == [0.0]


def vite_site(folder: Path) -> Path:
    """What `vite build` leaves: addresses from the root, modules that import others."""
    picture = make_still(folder.with_suffix(".png"), 7, width=160, height=240).read_bytes()
    page = f"""<!doctype html><html {SIZE} data-duration-ms="200"><head>
      <script type="module" crossorigin src="/assets/index-1a.js"></script>
      <link rel="stylesheet" crossorigin href="/assets/index-1a.css"></head>
      <body><div id="root"></div></body></html>"""
    return write_site(
        folder,
        page,
        {
            "assets/index-1a.js": """const part = import("./part-2b.js");
              const image = new Image(); image.src = "/assets/logo.png";
              root.append(image);
              window.renderReady = part.then((module) => module.paint(root));""",
            "assets/part-2b.js": "export const paint = (root) => root.classList.add('painted');",
            "assets/index-1a.css": """body { margin: 0 } img { float: left }
              .painted { width: 320px; height: 240px; background: #00f }""",
            "assets/logo.png": picture,
        },
    )


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "bundle"])
def test_build_output_is_rendered_as_folder_and_as_bundle(tmp_path: Path, packed: bool) -> None:
    site = vite_site(tmp_path / "dist")
    if packed:
        with tarfile.open(tmp_path / "dist.tgz", "w:gz") as tar:
            tar.add(site, arcname=".")
        site = tmp_path / "dist.tgz"
    assert facts(site, "-o", tmp_path / "a.mp4")["warnings"] == []
    for frame in decode_frames(tmp_path / "a.mp4"):
        assert read_frame_code(frame.rgb[:, :160]) == 7
        assert colour_at(frame.rgb, 240, 120)[2] > 240


def test_a_missing_image_fails_the_render(tmp_path: Path) -> None:
    (tmp_path / "secret.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    page = '<!doctype html><img id="logo" src="linked.svg">'
    site = write_site(tmp_path / "site", page)
    (site / "linked.svg").symlink_to(tmp_path / "secret.svg")
    result = render(site, "-o", tmp_path / "a.mp4", "--duration-ms", 100, "--json")
    assert result.exit_code == 1
    problem = json.loads(result.stderr)
    assert problem["error"] == "asset_missing"
    assert problem["message"] == (
        f'img#logo: src="linked.svg" is not there: {site} has no such file'
    )
    assert not (tmp_path / "a.mp4").exists()


@pytest.mark.parametrize(
    ("ending", "video", "sound"),
    [("webm", "vp9", "opus"), ("mov", "prores", "pcm_s16le"), ("gif", "gif", None)],
)
def test_the_extension_decides_the_container(
    tmp_path: Path, ending: str, video: str, sound: str | None
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(1)))
    page = f"""<ef-timegroup mode="contain" style="width:320px;height:240px;display:block">
      <ef-video src="{clip.name}"></ef-video></ef-timegroup>"""
    (tmp_path / "page.html").write_text(page)
    path = tmp_path / f"a.{ending}"
    assert facts(tmp_path / "page.html", "-o", path, "--fps", 10)["frames"] == 10
    made = measure_file(path)
    assert made.video is not None
    assert (made.video.codec, made.audio and made.audio.codec) == (video, sound)
    assert (made.video.width, made.video.height) == (320, 240)
    shown = [read_frame_code(frame.rgb) for frame in decode_frames(path)]
    assert shown == list(range(0, 30, 3))
    assert not sound or [round(at_s, 1) for at_s in beep_times(path)] == [0.0]


@pytest.mark.parametrize("ending", ["png", "jpg", "webp"])
def test_a_still_shows_the_requested_time(tmp_path: Path, ending: str) -> None:
    page = frame_code_page(PageDriver.WAAPI, Fraction(10), frame_count=30)
    (tmp_path / "page.html").write_text(page)
    path = tmp_path / f"a.{ending}"
    found = facts(tmp_path / "page.html", "-o", path, "--at", "1.5s", "--width", 321)
    assert (found["at_ms"], found["width"], found["height"]) == (1500, 321, 720)
    assert "frames" not in found
    picture = decode_still(path)
    assert picture.shape[:2] == (720, 321)
    assert read_frame_code(picture[..., :3]) == 15
    assert {"png": b"\x89PNG", "jpg": b"\xff\xd8\xff", "webp": b"RIFF"}[
        ending
    ] == path.read_bytes()[: 3 if ending == "jpg" else 4]


def test_data_is_shown_and_a_transparent_background_is_kept(tmp_path: Path) -> None:
    page = """<!doctype html><body style="margin:0"><script>
      const box = document.createElement("div");
      box.style = `width:50%;height:100vh;background:${EF_RENDER_DATA.colour}`;
      document.body.append(box);</script>"""
    (tmp_path / "page.html").write_text(page)
    (tmp_path / "data.json").write_text('{"colour": "#f00"}')
    size = ("--width", 64, "--height", 32, "--transparent")
    given = (("--data", '{"colour": "#00f"}'), ("--data-file", tmp_path / "data.json"))
    for number, data in enumerate(given):
        facts(tmp_path / "page.html", "-o", tmp_path / f"{number}.png", *data, *size)
    blue, red = (decode_still(tmp_path / f"{number}.png") for number in (0, 1))
    assert np.array_equal(blue[16, 16], (0, 0, 255, 255))
    assert np.array_equal(red[16, 16], (255, 0, 0, 255))
    assert blue[16, 48, 3] == red[16, 48, 3] == 0
