"""One folder for all temporary files of a process, and the removal of those of killed processes."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from framekiln.kit.lazy_log import LazyLogger
from framekiln.kit.locked_folder import make_locked_folder, sweep_folders

_PREFIX: Final = "framekiln-process-"
# Confined children of root are other users, who enter by names that cannot be listed.
_MODE: Final = {True: 0o711, False: 0o700}

log = LazyLogger(__name__)


@contextlib.contextmanager
def own_temp_folder() -> Iterator[Path]:
    """Use a new folder for all temporary files of this process; remove what others left behind."""
    before = tempfile.gettempdir()
    sweep_temp_folders(Path(before))
    folder, lock = make_locked_folder(_PREFIX, Path(before))
    folder.chmod(_MODE[os.geteuid() == 0])
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        _remove(folder)
        os.close(lock)


def sweep_temp_folders(place: Path) -> int:
    """Remove folders of processes of this user that have ended; return their number."""
    count = sweep_folders(_PREFIX, place, _remove, owner=os.geteuid())
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
