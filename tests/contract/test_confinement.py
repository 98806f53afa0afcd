"""Commands refuse to open what strangers send where it cannot be confined, unless told to."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from framekiln.engine.confinement import missing_confinement
from tests.support.timeouts import TIMEOUT_S

ALLOW = "FRAMEKILN_ALLOW_UNCONFINED"
PAGE = "<body style='background:#123456'>"


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with all programs but bubblewrap, which any user can enter."""
    folder = Path(tempfile.mkdtemp(prefix="framekiln-test-"))
    folder.chmod(0o755)
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.glob("*"):
            path = folder / program.name
            if program.name != "bwrap" and not path.is_symlink():
                path.symlink_to(program)
    yield folder
    shutil.rmtree(folder)


def run(programs: Path, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != ALLOW}
    return subprocess.run(
        [sys.executable, "-P", "-m", "framekiln", *map(str, words)],
        env={**kept, "PATH": str(programs), **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def assert_refused(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done
    for words in (
        "cannot be confined here",
        "pages: namespaces and seccomp",
        "bubblewrap",
        f"{ALLOW}=1",
    ):
        assert words in done.stderr, done.stderr


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return path


def test_render_refuses_unless_it_is_allowed_and_then_records_it(
    programs: Path, page: Path
) -> None:
    output = page.with_name("out.png")
    assert_refused(run(programs, "render", page, "-o", output))
    assert not output.exists()
    done = run(programs, "render", page, "-o", output, "--json", **{ALLOW: "1"})
    assert done.returncode == 0, done.stderr
    assert "confinement.missing" in done.stderr
    assert output.exists()
    assert json.loads(done.stdout)["missing_confinement"][0].startswith("pages: ")


def test_serve_refuses_before_anything_is_started(programs: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = run(programs, "serve", FRAMEKILN_DATA=str(data), FRAMEKILN_PORT="65432")
    assert_refused(done)
    assert not (data / "pg").exists()


def test_a_worker_that_renders_refuses(programs: Path, tmp_path: Path) -> None:
    place = {"FRAMEKILN_DATA": str(tmp_path / "data"), "DATABASE_URL": "postgresql://nowhere/x"}
    assert_refused(run(programs, "worker", "--queues", "render", **place))


@pytest.mark.skipif(bool(missing_confinement()), reason="this machine cannot confine children")
def test_with_bubblewrap_nothing_is_missing_and_nothing_is_recorded(page: Path) -> None:
    output = page.with_name("out.png")
    path = Path(os.environ["PATH"])
    done = run(path, "render", page, "-o", output, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["missing_confinement"] == []
