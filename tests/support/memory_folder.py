"""Where tests put databases: into memory, if there is enough of it.

A cluster of PostgreSQL is a thousand small files. On a disk, to create a database takes ten times
as long, and each commit of a service waits for the disk, which no test is about.
"""

import shutil
import tempfile
from functools import cache
from pathlib import Path

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 4 << 30
"""All worker processes of the tests together need less than half of it."""


@cache
def database_parent() -> Path:
    """Return the folder for new folders of databases."""
    is_roomy = (
        MEMORY.is_dir()
        and shutil.disk_usage(MEMORY).free >= NEEDED_BYTES
        and _available_bytes() >= 2 * NEEDED_BYTES
    )
    return MEMORY if is_roomy else Path(tempfile.gettempdir())


def new_database_folder() -> Path:
    """Return a new folder; whoever asks for it deletes it."""
    return Path(tempfile.mkdtemp(prefix="framekiln-test-", dir=database_parent()))


def _available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) << 10
    return 0
