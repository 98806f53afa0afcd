"""A folder as if it belonged to another account: read-only, and only for this process.

A page of root's may have files that nobody else can read. In a mount namespace, the kernel can show
a folder with other owners (an id-mapped mount: Linux 5.12, not on every file system). Nothing is
copied, and no permission is changed. Needs CAP_SYS_ADMIN.
"""

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from framekiln.kit.account import Account
from framekiln.kit.mounts import bind_mount, check_call, enter_mount_namespace

# These calls have the same numbers on all processors.
_OPEN_TREE: Final = 428
_MOVE_MOUNT: Final = 429
_MOUNT_SETATTR: Final = 442
_CLONE_TREE: Final = 1
_AT_RECURSIVE: Final = 0x8000
_AT_EMPTY_PATH: Final = 0x1000
_FROM_EMPTY_PATH: Final = 4
_AT_FDCWD: Final = -100
_READ_ONLY: Final = 0x1
_NO_SETUID: Final = 0x2
_NO_DEVICES: Final = 0x4
_ID_MAP: Final = 0x100000
_CLONE_NEWUSER: Final = 0x10000000


def map_folder(folder: Path, account: Account, *, kept: Iterable[Path]) -> None:
    """Show files of root in `folder` as files of the account, to this process and its children.

    `kept` are folders inside that stay as they are. Raises `OSError` if this is not possible.
    """
    folder = folder.resolve()
    inside = [path.resolve() for path in kept if folder in path.resolve().parents]
    libc = enter_mount_namespace()
    opened = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in inside}
    tree = _call(
        libc,
        "open_tree",
        _OPEN_TREE,
        _AT_FDCWD,
        os.fsencode(folder),
        _CLONE_TREE | _AT_RECURSIVE | os.O_CLOEXEC,
    )
    with _owners(libc, account) as owners:
        flags = _ID_MAP | _READ_ONLY | _NO_SETUID | _NO_DEVICES
        changes = struct.pack("=QQQQ", flags, 0, 0, owners)
        words = (tree, b"", _AT_EMPTY_PATH, changes, len(changes))
        _call(libc, "mount_setattr", _MOUNT_SETATTR, *words)
    words = (tree, b"", _AT_FDCWD, os.fsencode(folder), _FROM_EMPTY_PATH)
    _call(libc, "move_mount", _MOVE_MOUNT, *words)
    os.close(tree)
    for path, descriptor in opened.items():
        bind_mount(libc, descriptor, path)
        os.close(descriptor)
    # The current folder is still the covered one.
    os.chdir(Path.cwd())


@contextmanager
def _owners(libc: ctypes.CDLL, account: Account) -> Iterator[int]:
    """Provide a user namespace in which root is the account; a process keeps it open."""
    ready, end = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(ready[1], b"0" if libc.unshare(_CLONE_NEWUSER) else b"1")
        os.close(end[1])
        os.read(end[0], 1)
        os._exit(0)
    try:
        if os.read(ready[0], 1) != b"1":
            raise OSError("no user namespace can be made")
        for name, number in (("uid_map", account.uid), ("gid_map", account.gid)):
            Path(f"/proc/{pid}/{name}").write_text(f"0 {number} 1")
        namespace = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        try:
            yield namespace
        finally:
            os.close(namespace)
    finally:
        for descriptor in (*ready, *end):
            os.close(descriptor)
        os.waitpid(pid, 0)


def _call(libc: ctypes.CDLL, name: str, number: int, *words: int | bytes) -> int:
    given = (ctypes.c_long(word) if isinstance(word, int) else word for word in words)
    result: int = libc.syscall(ctypes.c_long(number), *given)
    check_call(min(result, 0), name)
    return result
