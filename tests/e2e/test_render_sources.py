"""`framekiln render` of folders, bundles, formats, stills and data: what is in the pictures."""

import json
import tarfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from framekiln.cli.program import app
from tests.e2e.conftest import IN_THIS_PROCESS
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.looks import decode_frames, decode_still, measure_file
from tests.support.player_bundles import one_source_page, one_source_site
from tests.support.sites import assert_vite_picture, vite_site, write_site
from tests.support.sounds import beep_times

pytestmark = pytest.mark.usefixtures("own_sigterm")


def render(*words: object, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["render", *map(str, words)], input=typed, env=IN_THIS_PROCESS)


def facts(*words: object) -> dict[str, Any]:
    """Render, and return what the command says of it."""
    result = render(*words, "--json")
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


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


def packed_site(folder: Path) -> Path:
    """Return the folder as a bundle."""
    path = folder.with_suffix(".tgz")
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, arcname=".")
    return path


def test_a_bundle_with_an_external_runtime_plays_its_video_with_sound(tmp_path: Path) -> None:
    site = one_source_site(tmp_path / "dist", one_source_page("./clip.mp4", length_ms=1500))
    make_clip(site.folder / "clip.mp4", Clip(fps=Fraction(10), duration_s=Fraction(2)))
    size = ("--width", 320, "--height", 240, "--fps", 10, "--duration-ms", 1500)
    found = facts(packed_site(site.folder), "-o", tmp_path / "a.mp4", *size)
    assert (found["frames"], found["warnings"]) == (15, [])
    frames = decode_frames(tmp_path / "a.mp4")
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(15))
    assert beep_times(tmp_path / "a.mp4") == pytest.approx([0, 1], abs=0.005)


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "bundle"])
def test_build_output_is_rendered_as_folder_and_as_bundle(tmp_path: Path, packed: bool) -> None:
    site = vite_site(tmp_path / "dist")
    if packed:
        site = packed_site(site)
    assert facts(site, "-o", tmp_path / "a.mp4")["warnings"] == []
    for frame in decode_frames(tmp_path / "a.mp4"):
        assert_vite_picture(frame.rgb)


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
