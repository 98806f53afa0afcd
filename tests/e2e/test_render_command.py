"""`framekiln render` as people run it: a process, its exit code, its two outputs, its file."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from framekiln.cli.program import app
from framekiln.engine.confinement import missing_confinement
from tests.e2e.conftest import IN_THIS_PROCESS, processes_under
from tests.support.looks import colour_at, decode_frames, measure_file
from tests.support.timeouts import TIMEOUT_S

PAGE = """<!doctype html><html data-width=320 data-height=180 data-fps=10 data-duration-ms=500>
<body style="margin:0;background:#0f0">"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return path


# A test run that was started in the background passes on that Ctrl-C is to be ignored.
AS_IN_A_TERMINAL = ("env", "--default-signal=INT")


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [*AS_IN_A_TERMINAL, sys.executable, "-m", "framekiln", "render", *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def run(*arguments: object, typed: str = "") -> tuple[int, str, str]:
    """Return exit code, standard output and standard error."""
    process = start(*arguments)
    output, errors = process.communicate(typed, timeout=TIMEOUT_S)
    return process.returncode, output, errors


def run_here(*arguments: object, typed: str = "") -> Result:
    """Run the command in this process: loading it again takes longer than what is tested."""
    return CliRunner().invoke(
        app, ["render", *map(str, arguments)], input=typed, env=IN_THIS_PROCESS
    )


def test_a_page_becomes_a_film(page: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    code, output, _ = run(page, "-o", film)
    assert code == 0
    assert output == f"{film}: 5 frames, 320x180, 10 fps\n"
    assert [colour_at(frame.rgb, 9, 9) for frame in decode_frames(film)] == [(0, 255, 1)] * 5
    assert film.stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["film.mp4", "page.html"]


@pytest.mark.usefixtures("own_sigterm")
def test_options_override_a_page_from_standard_input(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    asked = ["--width", 640, "--height", 360, "--fps", "30000/1001", "--duration-ms", 200]
    result = run_here("-", "-o", film, *asked, "--json", typed=PAGE)
    assert result.exit_code == 0
    assert result.stderr == "" or missing_confinement()
    found = json.loads(result.stdout)
    # Which of the two it is depends on the version of Chromium.
    method = "raw-memory" if found["fallback_reason"] is None else "begin-frame-screenshot"
    assert found == {
        "output": str(film),
        "width": 640,
        "height": 360,
        "fps": "30000/1001",
        "frames": 6,
        "duration_ms": 200,
        "grabbing": method,
        "fallback_reason": found["fallback_reason"],
        "composed_frames": 0,
        "filmed_reason": "it has less than 120 frames",
        "warnings": [],
        "missing_confinement": list(missing_confinement()),
    }
    video = measure_file(film).video
    assert video is not None
    assert (video.width, video.height, video.frame_count) == (640, 360, 6)
    assert colour_at(decode_frames(film)[0].rgb, 9, 9) == (0, 255, 1)


REFUSED: dict[str, tuple[list[str], str]] = {
    "odd width": (
        ["page.html", "-o", "film.mp4", "--width", "321"],
        "--width 321 is odd: films need even sizes\n",
    ),
    "odd height": (["page.html", "-o", "film.mp4", "--height", "181"], "--height 181 is odd"),
    "no page": (["none.html", "-o", "film.mp4"], "cannot read none.html: "),
    "no text": (["bytes.html", "-o", "film.mp4"], "bytes.html is not UTF-8 text"),
    "no folder": (["page.html", "-o", "none/film.mp4"], "--output: there is no folder "),
    "no frames": (["page.html", "-o", "film.mp4", "--fps", "0"], "--fps 0: must be 1 to 120"),
    "too fast": (["page.html", "-o", "film.mp4", "--fps", "121"], "--fps 121: must be 1 to 120"),
    "no number": (["page.html", "-o", "film.mp4", "--fps", "fast"], "--fps 'fast' is neither"),
    "unknown ending": (
        ["none.html", "-o", "film.avi"],
        "--output film.avi: the name must end in .mp4",
    ),
    "no ending": (["page.html", "-o", "film"], "--output film: the name must end in .mp4"),
    "a still of a length": (
        ["page.html", "-o", "a.png", "--duration-ms", "9"],
        "--duration-ms works",
    ),
    "a film at a time": (
        ["page.html", "-o", "film.mp4", "--at", "1s"],
        "--at works only for stills",
    ),
    "no time": (["page.html", "-o", "a.png", "--at", "later"], "--at later: must be milliseconds"),
    "no data": (["page.html", "-o", "film.mp4", "--data", "[]"], "--data needs a JSON object"),
    "one pipe": (["-", "-o", "film.mp4", "--data-file", "-"], "standard input is either"),
    "no index": ([".", "-o", "film.mp4"], ". has no index.html: name the page"),
    "no fraction": (["page.html", "-o", "film.mp4", "--fps", "30/0"], "--fps '30/0' is neither"),
    "config without its size": (
        ["config.json", "-o", "film.mp4", "--width", "320"],
        "--width works only for pages: set dimensions in config.json",
    ),
    "not a number": (["page.html", "-o", "film.mp4", "--fps", "nan"], "--fps 'nan' is neither"),
}


@pytest.mark.usefixtures("own_sigterm")
@pytest.mark.parametrize(("arguments", "reason"), REFUSED.values(), ids=REFUSED)
def test_errors_are_printed_on_one_line(
    page: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(page.parent)
    Path("bytes.html").write_bytes(b"\xff\xfe")
    result = run_here(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {reason}")
    assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["bytes.html", "page.html"]


@pytest.mark.usefixtures("own_sigterm")
def test_a_layer_config_with_a_local_picture_becomes_a_film_and_a_still(tmp_path: Path) -> None:
    Image.new("RGB", (64, 64), (255, 0, 0)).save(tmp_path / "red.png")
    config = tmp_path / "config.json"
    size = {"width": 64, "height": 64}
    layer = {"type": "image", "file": "red.png", "timeline": {"start": 0.5}}
    config.write_text(json.dumps({"dimensions": size, "fps": 4, "duration": 1, "layers": [layer]}))
    film, still = tmp_path / "film.mp4", tmp_path / "still.png"
    result = run_here(config, "-o", film)
    assert (result.exit_code, result.stdout) == (0, f"{film}: 4 frames, 64x64, 4 fps\n")
    reds = [colour_at(frame.rgb, 9, 9)[0] for frame in decode_frames(film)]
    assert [red > 200 for red in reds] == [False, False, True, True]
    assert run_here(config, "-o", still, "--at", "500ms").exit_code == 0
    with Image.open(still) as picture:
        assert picture.convert("RGB").getpixel((9, 9)) == pytest.approx((255, 0, 0), abs=2)


@pytest.mark.usefixtures("own_sigterm")
def test_each_issue_of_a_layer_config_has_a_line(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"duration": -1, "layers": [{"type": "vidio"}]}))
    result = run_here(config, "-o", tmp_path / "film.mp4")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["duration", "layers.0.type"]


@pytest.mark.usefixtures("own_sigterm")
def test_a_missing_file_of_a_layer_config_is_named_as_it_is_written(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    layers = [{"id": "clip", "type": "video", "file": "clip.mp4"}]
    config.write_text(json.dumps({"dimensions": {"width": 64, "height": 64}, "layers": layers}))
    result = run_here(config, "-o", tmp_path / "film.mp4")
    assert result.exit_code == 1
    assert "layers.0.file: layer clip: clip.mp4 could not be fetched" in result.stderr


@pytest.mark.usefixtures("own_sigterm")
def test_a_page_without_a_duration_names_the_option_that_sets_it(tmp_path: Path) -> None:
    result = run_here("-", "-o", tmp_path / "film.mp4", "--json", typed="<p>hello")
    assert (result.exit_code, result.stdout) == (1, "")
    problem = json.loads(result.stderr)
    assert problem["error"] == "duration_unknown"
    assert problem["message"].startswith("the length is unknown: no --duration-ms was given")
    assert "data-duration-ms" in problem["message"]


def test_a_failed_render_keeps_an_existing_output(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"the film before")
    html = PAGE + "<script>setTimeout(() => { throw new Error('boom') }, 300)</script>"
    code, output, errors = run("-", "-o", film, typed=html)
    assert (code, output) == (1, "")
    assert "error: a script of the page threw" in errors
    assert film.read_bytes() == b"the film before"
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4"]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_render_leaves_no_file(
    tmp_path: Path, page: Path, ending: signal.Signals
) -> None:
    film = tmp_path / "film.mp4"
    process = start(page, "-o", film, "--duration-ms", 3_600_000)
    wait_for_page(process)
    assert list(tmp_path.glob(".film.mp4.*"))
    process.send_signal(ending)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode != 0
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def wait_for_page(process: subprocess.Popen[str]) -> None:
    """Return when the browser of a render has a page open."""
    deadline = time.monotonic() + TIMEOUT_S
    while not any(is_page(pid) for pid in processes_under(process.pid)):
        assert process.poll() is None, "the render ended by itself"
        assert time.monotonic() < deadline, "no page was opened"
        time.sleep(0.05)


def is_page(pid: int) -> bool:
    try:
        return b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
