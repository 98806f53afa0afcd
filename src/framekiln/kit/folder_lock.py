"""A single owner for a data folder: a lock that the kernel releases when its holder dies."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from framekiln.kit.errors import Conflict, Unavailable


class FolderInUse(Conflict):
    """Another process owns the data folder."""

    code = "folder_in_use"


class FolderNotWritable(Unavailable):
    """The data folder cannot be created or written to."""

    code = "folder_not_writable"
    retryable = False


def make_folder(folder: Path) -> None:
    """Create the data folder if it is missing; an existing one is never changed.

    Other users may enter (not list) root's folder, because its database runs as another user.
    """
    mode = 0o711 if os.geteuid() == 0 else 0o700
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(mode)
    except OSError as error:
        raise FolderNotWritable(
            f"cannot create the data folder {folder}: {error.strerror};"
            " choose another FRAMEKILN_DATA"
        ) from error


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock `folder` for the block, or raise `FolderInUse` at once."""
    make_folder(folder)
    path = folder / "serve.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FolderNotWritable(
            f"cannot write {path}: {error.strerror}; choose another FRAMEKILN_DATA"
        ) from error
    try:
        _take(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 32, 0).decode().strip() or "unknown"
        raise FolderInUse(
            f"another framekiln (pid {holder}) uses {folder};"
            " stop it or choose another FRAMEKILN_DATA",
            pid=holder,
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
