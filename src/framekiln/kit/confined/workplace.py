"""Folders of one confined job: what the child may change, and beside it a source that it may read.

A source may be a second name of a blob. In the child's own folder it would become the child's.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

# Can be entered by name, not listed: the source's name is long and random.
_ENTER_ONLY: Final = 0o711


@dataclass(frozen=True)
class Workplace:
    """Nothing is at `source` at first; what comes there must be readable for all."""

    folder: Path
    source: Path


@contextmanager
def open_workplace(job: str) -> Iterator[Workplace]:
    """Make the folders; they are removed with all that is in them."""
    with tempfile.TemporaryDirectory(prefix=f"framekiln-{job}-") as name:
        place = Path(name)
        # The child may be another user.
        place.chmod(_ENTER_ONLY)
        folder = place / "work"
        folder.mkdir(mode=0o700)
        yield Workplace(folder, place / uuid4().hex)
