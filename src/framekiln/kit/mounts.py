"""A private view of the file system, in which other accounts can reach folders below closed ones.

A project in root's home is typical: no other account can enter /root. In a mount namespace of its
own, this process and its children see an empty folder in the place of each closed one, with only
the needed paths in it. Nobody else sees a change. No permission is changed. Needs CAP_SYS_ADMIN.
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_CLONE_NEWNS: Final = 0x20000
_MS_NOSUID: Final = 0x2
_MS_NODEV: Final = 0x4
_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_SLAVE: Final = 0x80000
_ENTER_ONLY: Final = 0o711


def closed_folders(paths: Iterable[Path]) -> list[Path]:
    """Return the folders above `paths` that other accounts cannot enter, outermost only."""
    above = {parent for path in paths for parent in path.parents}
    closed = sorted(folder for folder in above if not _may_enter(folder))
    return [each for each in closed if not any(other in each.parents for other in closed)]


def open_path_view(paths: Iterable[Path]) -> None:
    """Make `paths` reachable for every account, in this process and its future children.

    Raises `OSError` if this is not permitted. Call it before any thread is started.
    """
    wanted = {path.resolve() for path in paths if path.exists()}
    closed = closed_folders(wanted)
    if not closed:
        return
    libc = enter_mount_namespace()
    here = Path.cwd()
    for folder in closed:
        _rebuild(libc, folder, _outermost(path for path in wanted if folder in path.parents))
    # The current folder is still the covered one.
    os.chdir(here if here.is_dir() else "/")


def enter_mount_namespace() -> ctypes.CDLL:
    """Give this process mounts of its own; return the C library. Raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    check_call(libc.unshare(_CLONE_NEWNS), "unshare")
    # Mounts of the machine still arrive here; ours do not leave.
    _mount(libc, None, Path("/"), None, _MS_REC | _MS_SLAVE)
    return libc


def bind_mount(libc: ctypes.CDLL, descriptor: int, path: Path) -> None:
    """Show what is open as `descriptor` at `path`, too."""
    _mount(libc, f"/proc/self/fd/{descriptor}", path, None, _MS_BIND | _MS_REC)


def check_call(result: int, action: str) -> None:
    """Raise `OSError` if a call of the C library has failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{action}: {os.strerror(number)}")


def _rebuild(libc: ctypes.CDLL, folder: Path, paths: list[Path]) -> None:
    """Cover `folder` with an empty one, and put the paths back where they were."""
    opened = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in paths}
    options = f"mode={_ENTER_ONLY:o},size=1m"
    _mount(libc, "tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, options)
    umask = os.umask(0)
    try:
        for path, descriptor in opened.items():
            path.parent.mkdir(mode=_ENTER_ONLY, parents=True, exist_ok=True)
            for parent in path.relative_to(folder).parents:
                (folder / parent).chmod(_ENTER_ONLY)
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                path.mkdir()
            else:
                path.touch()
            bind_mount(libc, descriptor, path)
            os.close(descriptor)
    finally:
        os.umask(umask)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    found = sorted(set(paths))
    return [each for each in found if not any(other in each.parents for other in found)]


def _may_enter(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def _mount(
    libc: ctypes.CDLL,
    source: str | None,
    target: Path,
    kind: str | None,
    flags: int,
    options: str | None = None,
) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    data = None if options is None else options.encode()
    result = libc.mount(*words, ctypes.c_ulong(flags), data)
    check_call(result, f"mount {target}")
