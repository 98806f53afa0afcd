"""One folder for all temporary files of a process, and the removal of those of killed processes.

A process holds a lock on its folder, which the kernel releases when it dies, in whatever way. A
folder of ours without a lock therefore belongs to nobody any more.
"""

import contextlib
import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from framekiln.kit.lazy_log import LazyLogger

_PREFIX: Final = "framekiln-process-"
# Confined children of root are other users, who enter by names that cannot be listed.
_MODE: Final = {True: 0o711, False: 0o700}

log = LazyLogger(__name__)


@contextlib.contextmanager
def own_temp_folder() -> Iterator[Path]:
    """Use a new folder for all temporary files of this process; remove what others left behind."""
    before = tempfile.gettempdir()
    sweep_temp_folders(Path(before))
    folder, lock = _create(before)
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        _remove(folder)
        os.close(lock)


def sweep_temp_folders(place: Path) -> int:
    """Remove folders of processes of this user that have ended; return their number."""
    count = 0
    for folder in place.glob(f"{_PREFIX}*"):
        lock = _lock(folder)
        if lock is None:
            continue
        _remove(folder)
        os.close(lock)
        count += 1
    if count:
        log.info("temp.swept", folder=str(place), count=count)
    return count


def _remove(folder: Path) -> None:
    """Remove a folder, whatever is in it.

    Python removes folders by recursion, so one with a thousand levels would stop the process.
    """
    subprocess.run(
        ["rm", "-rf", "--", str(folder)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def _create(place: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        lock = _lock(folder)
        # Another process may have swept it in the meantime.
        if lock is not None and folder.exists():
            folder.chmod(_MODE[os.geteuid() == 0])
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Return a descriptor that holds the lock of a folder of ours; None if somebody else does."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(folder, flags)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except BlockingIOError:
        pass
    os.close(descriptor)
    return None
