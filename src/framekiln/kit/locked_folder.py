"""Folders that belong to a process as long as it lives, and the removal of those left behind.

A process holds a lock on its folder, which the kernel releases when it dies, in whatever way. A
folder without a lock therefore belongs to nobody any more.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def make_locked_folder(prefix: str, parent: Path) -> tuple[Path, int]:
    """Return a new folder and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock(folder)
        # Another process may have swept it in the meantime.
        if lock is not None and folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)


def sweep_folders(
    prefix: str, parent: Path, remove: Callable[[Path], None], *, owner: int | None = None
) -> int:
    """Remove folders without a lock, of any owner or of that one; return their number."""
    count = 0
    for folder in parent.glob(f"{prefix}*"):
        lock = _lock(folder, owner=owner)
        if lock is not None:
            remove(folder)
            os.close(lock)
            count += 1
    return count


def _lock(folder: Path, *, owner: int | None = None) -> int | None:
    """Return a descriptor that holds the lock; None if somebody else does, or owns the folder."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(folder, flags)
    except OSError:
        return None
    try:
        if owner is None or os.fstat(descriptor).st_uid == owner:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None
