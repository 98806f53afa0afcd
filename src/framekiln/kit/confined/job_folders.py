"""Folders of one confined job: a writable one for the child, and a separate one for its source.

A source may be a hard link to a blob. In the child's folder it would become writable.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

ENTER_ONLY: Final = 0o711
"""Can be entered by name but not listed: the source's name is long and random."""


@dataclass(frozen=True)
class JobFolders:
    """`source` does not exist at first; the file put there must be readable by all users."""

    folder: Path
    source: Path


@contextmanager
def open_job_folders(job: str) -> Iterator[JobFolders]:
    """Create the folders; they are removed afterwards with their contents."""
    with tempfile.TemporaryDirectory(prefix=f"framekiln-{job}-") as name:
        place = Path(name)
        # The child may run as another user.
        place.chmod(ENTER_ONLY)
        folder = place / "work"
        folder.mkdir(mode=0o700)
        yield JobFolders(folder, place / uuid4().hex)
