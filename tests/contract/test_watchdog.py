"""The watchdog of a browser looks again, whatever happens during a look."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.process_tree import ProcessTree
from framekiln.capture.watchdog import Watchdog
from tests.support.timeouts import TIMEOUT_S


@contextmanager
def watchdog(
    limits: BrowserLimits, *, profile: Path | None, kill: Callable[[], None]
) -> Iterator[Watchdog]:
    """Watch the processes of this test."""
    watchdog = Watchdog(
        ProcessTree(os.getpid(), has_namespace=False),
        limits,
        profile=profile,
        group=None,
        kill=kill,
        slow_down=lambda: None,
    )
    try:
        yield watchdog
    finally:
        watchdog.stop()


@pytest.fixture
def unreadable(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be listed, as one that is removed meanwhile: its path is too long."""
    name, levels = "x" * 200, os.pathconf("/", "PC_PATH_MAX") // 200 + 1
    folders = [os.open(tmp_path, os.O_RDONLY)]
    for _ in range(levels):
        os.mkdir(name, dir_fd=folders[-1])
        folders.append(os.open(name, os.O_RDONLY, dir_fd=folders[-1]))
    yield tmp_path
    for folder in reversed(folders):
        os.close(folder)
        if folder != folders[0]:
            os.rmdir(name, dir_fd=folders[folders.index(folder) - 1])


def test_a_folder_that_cannot_be_listed_does_not_end_the_limit_of_the_disk(
    unreadable: Path,
) -> None:
    (unreadable / "data").write_bytes(b"x" * (2 << 20))
    killed = threading.Event()
    with watchdog(BrowserLimits(disk_mib=1), profile=unreadable, kill=killed.set) as watch:
        assert killed.wait(TIMEOUT_S)
        assert watch.exceeded is not None
        assert "more than 1 MiB of disk" in watch.exceeded.message


def test_a_look_that_fails_is_not_the_last() -> None:
    kills, killed = 0, threading.Event()

    def kill() -> None:
        nonlocal kills
        kills += 1
        if kills == 1:
            raise PermissionError("not this time")
        killed.set()

    with watchdog(BrowserLimits(threads=0), profile=None, kill=kill):
        assert killed.wait(TIMEOUT_S)
