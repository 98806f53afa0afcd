"""`framekiln render` as people run it: a process, its exit code, its two outputs, its file."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from framekiln.cli import app
from tests.support.looks import colour_at, decode_frames, probe

PAGE = """<!doctype html><html data-width=320 data-height=180 data-fps=10 data-duration-ms=500>
<body style="margin:0;background:#0f0">"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return path


# A test run that was started in the background passes on that Ctrl-C is to be ignored.
AS_IN_A_TERMINAL = ("env", "--default-signal=INT")


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [*AS_IN_A_TERMINAL, sys.executable, "-m", "framekiln", "render", *map(str, arguments)]
    environment = {**os.environ, "FRAMEKILN_SETTLE_TIMEOUT_S": "5", "COLUMNS": "200"}
    return subprocess.Popen(
        command,
        stdin=options.get("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def run(*arguments: object, typed: str | None = None) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error."""
    process = start(*arguments, stdin=None if typed is None else subprocess.PIPE)
    output, errors = process.communicate(typed, timeout=120)
    return process.returncode, output, errors


def test_a_page_becomes_a_film(page: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    code, output, _ = run(page, "-o", film)
    assert code == 0
    assert output == f"{film}: 5 frames, 320x180, 10 fps\n"
    assert [colour_at(frame.rgb, 9, 9) for frame in decode_frames(film)] == [(0, 255, 1)] * 5
    assert film.stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["film.mp4", "page.html"]


def test_options_win_over_the_page_and_json_says_so(page: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    asked = ["--width", 640, "--height", 360, "--fps", "30000/1001", "--duration-ms", 200]
    code, output, errors = run(page, "-o", film, *asked, "--json")
    assert (code, errors) == (0, "")
    told = json.loads(output)
    assert told == {
        "output": str(film),
        "width": 640,
        "height": 360,
        "fps": "30000/1001",
        "frames": 6,
        "duration_ms": 200,
        "grabbing": "raw-memory",
        "fallback_reason": None,
        "warnings": [],
    }
    video = probe(film).video
    assert video is not None
    assert (video.width, video.height, video.frame_count) == (640, 360, 6)


def test_a_page_may_come_from_standard_input(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    code, _, _ = run("-", "-o", film, typed=PAGE)
    assert code == 0
    assert len(decode_frames(film)) == 5


def test_an_odd_size_is_one_line(page: Path, tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    code, output, errors = run(page, "-o", film, "--width", 321)
    assert (code, output) == (1, "")
    assert errors == "error: --width 321 is odd: H.264 needs even sizes\n"
    assert not film.exists()


REFUSED: dict[str, tuple[list[str], str]] = {
    "odd height": (["page.html", "-o", "film.mp4", "--height", "181"], "--height 181 is odd"),
    "no page": (["none.html", "-o", "film.mp4"], "cannot read none.html: "),
    "no text": (["bytes.html", "-o", "film.mp4"], "cannot read bytes.html: "),
    "no folder": (["page.html", "-o", "none/film.mp4"], "--output: there is no folder "),
    "no frames": (["page.html", "-o", "film.mp4", "--fps", "0"], "--fps 0: 1 to 120"),
    "too fast": (["page.html", "-o", "film.mp4", "--fps", "121"], "--fps 121: 1 to 120"),
    "no number": (["page.html", "-o", "film.mp4", "--fps", "fast"], "--fps 'fast' is neither"),
    "no fraction": (["page.html", "-o", "film.mp4", "--fps", "30/0"], "--fps '30/0' is neither"),
    "not a number": (["page.html", "-o", "film.mp4", "--fps", "nan"], "--fps 'nan' is neither"),
}


@pytest.mark.parametrize(("arguments", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_one_line(
    page: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    """In this process: starting another for each would take most of the time."""
    monkeypatch.chdir(page.parent)
    Path("bytes.html").write_bytes(b"\xff\xfe")
    result = CliRunner().invoke(app, ["render", *arguments])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {reason}")
    assert result.stderr.count("\n") == 1
    assert not Path("film.mp4").exists()


def test_a_page_that_throws_leaves_what_was_there(tmp_path: Path) -> None:
    film = tmp_path / "film.mp4"
    film.write_bytes(b"the film before")
    html = PAGE + "<script>setTimeout(() => { throw new Error('boom') }, 300)</script>"
    code, output, errors = run("-", "-o", film, "--json", typed=html)
    assert (code, output) == (1, "")
    assert errors.startswith("error: a script of the page threw")
    assert film.read_bytes() == b"the film before"
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4"]


ENDINGS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_interrupted_render_leaves_nothing(
    tmp_path: Path, page: Path, ending: signal.Signals
) -> None:
    film = tmp_path / "film.mp4"
    process = start(page, "-o", film, "--duration-ms", 3_600_000)
    give_up_at = time.monotonic() + 60
    while not list(tmp_path.glob(".film.mp4.*")) and time.monotonic() < give_up_at:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(ending)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
