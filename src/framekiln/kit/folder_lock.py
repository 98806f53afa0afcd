"""A single owner for a data folder: a lock that the kernel releases when its holder dies."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from framekiln.kit.errors import Conflict, Unavailable

_TRIES: Final = 10
_TRY_EVERY_S: Final = 0.05


class FolderInUse(Conflict):
    """Another process owns the data folder."""

    code = "folder_in_use"


class FolderNotWritable(Unavailable):
    """The data folder cannot be created or written to."""

    code = "folder_not_writable"
    retryable = False


def make_folder(folder: Path) -> None:
    """Create the data folder if it is missing, for us alone; an existing one is not changed."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
    except OSError as error:
        raise FolderNotWritable(
            f"cannot create the data folder {folder}: {error.strerror};"
            " choose another FRAMEKILN_DATA"
        ) from error


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock `folder` for the block, or raise `FolderInUse`."""
    make_folder(folder)
    path = folder / "serve.lock"
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise FolderNotWritable(
            f"cannot write {path}: {error.strerror}; choose another FRAMEKILN_DATA"
        ) from error
    try:
        _take(descriptor, folder)
        if os.geteuid() == 0:
            # Whoever owns the folder can lock it again without root.
            os.fchown(descriptor, folder.stat().st_uid, -1)
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Return whether a process owns the folder. Changes nothing."""
    return _holder(folder) is not None


def lock_holder(folder: Path) -> int | None:
    """Return the process that owns the folder; None if nobody does. Changes nothing."""
    holder = _holder(folder) or ""
    return int(holder) if holder.isdecimal() else None


def _holder(folder: Path) -> str | None:
    """Return what the owner wrote into its lock; None if nobody owns the folder."""
    try:
        descriptor = os.open(folder / "serve.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return None if _locks(descriptor, fcntl.LOCK_SH) else _text_in(descriptor)
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    for _ in range(_TRIES):
        if _locks(descriptor, fcntl.LOCK_EX):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            return
        # Those who only look share the lock, and leave it in a moment. An owner keeps it.
        if not _locks(descriptor, fcntl.LOCK_SH):
            break
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(_TRY_EVERY_S)
    holder = _text_in(descriptor) or "unknown"
    raise FolderInUse(
        f"another framekiln (pid {holder}) uses {folder}; stop it or choose another FRAMEKILN_DATA",
        pid=holder,
    )


def _locks(descriptor: int, kind: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return True
    return False


def _text_in(descriptor: int) -> str:
    return os.pread(descriptor, 32, 0).decode().strip()
