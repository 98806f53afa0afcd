"""Temporary folders of processes: removed at their end, or at the next start if killed."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from framekiln.kit.temp_folder import own_temp_folder, sweep_temp_folders
from tests.support.service import POLL_S, confinement_settings
from tests.support.timeouts import TIMEOUT_S

HOLD = """
import sys, tempfile
from framekiln.kit.temp_folder import own_temp_folder
with own_temp_folder() as folder:
    tempfile.mkdtemp(prefix="framekiln-film-")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def holder() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_folders_of_killed_processes_are_removed_and_others_kept(place: Path) -> None:
    with holder() as (living, kept), holder() as (killed, left):
        killed.kill()
        killed.wait()
        assert (kept.parent, left.parent) == (place, place)
        assert list(left.iterdir()), "it left nothing"
        (place / "framekiln-of-somebody").mkdir()
        assert sweep_temp_folders(place) == 1
        assert not left.exists()
        assert list(kept.iterdir())
        assert (place / "framekiln-of-somebody").exists()
        assert living.stdin
        living.stdin.close()
        assert living.wait() == 0
        assert not kept.exists()


def test_all_temporary_files_of_a_process_are_in_its_folder(place: Path) -> None:
    with own_temp_folder() as folder, tempfile.TemporaryDirectory() as inner:
        assert folder.parent == place
        assert Path(inner).parent == folder
        assert sweep_temp_folders(place) == 0
    assert not list(place.iterdir())
    assert tempfile.gettempdir() == str(place)


def test_folders_of_any_depth_are_removed(place: Path) -> None:
    """The files of a bundle with 980 levels kept the service from starting again."""
    with holder() as (process, left):
        process.kill()
        process.wait()
        # One by one, because Python makes parents by recursion.
        for depth in range(1, 1500):
            Path(left, "a/" * depth).mkdir()
        assert sweep_temp_folders(place) == 1
        assert not left.exists()


@pytest.fixture
def machine(conninfo: str) -> Iterator[dict[str, str]]:
    """The environment of workers that are alone on a machine."""
    # Not in a folder of pytest: as root, workers are another user.
    folder = Path(tempfile.mkdtemp(prefix="machine-"))
    folder.chmod(0o1777)
    try:
        yield {
            **os.environ,
            **confinement_settings(),
            "DATABASE_URL": conninfo,
            "FRAMEKILN_DATA": str(folder / "data"),
            "TMPDIR": str(folder),
        }
    finally:
        shutil.rmtree(folder)


@contextmanager
def worker(machine: dict[str, str]) -> Iterator[Path]:
    """Run a worker that makes segments, and kill it at the end; yield its temporary folder."""
    place = Path(machine["TMPDIR"])
    before = set(place.glob("framekiln-process-*"))
    process = subprocess.Popen(
        [sys.executable, "-m", "framekiln", "worker", "--queues", "playback"],
        env=machine,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while not (
            own := [
                path for path in place.glob("framekiln-process-*/*") if path.parent not in before
            ]
        ):
            assert process.poll() is None, "it has ended"
            assert time.monotonic() < deadline, "it makes no temporary folder"
            time.sleep(POLL_S)
        yield own[0].parent
    finally:
        process.kill()
        process.wait()


def test_a_worker_alone_on_its_machine_removes_what_a_killed_one_left(
    machine: dict[str, str],
) -> None:
    with worker(machine) as left:
        pass
    assert list(left.glob("framekiln-sandbox-*"))
    with worker(machine) as kept:
        assert not left.exists()
        assert list(kept.iterdir())
