"""Restricts this process to some folders with Landlock, if the kernel supports it.

It needs no privileges, so it works where namespaces are forbidden, as in most containers. It
applies to this process and its children, and cannot be undone.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_WHICH_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1, 2, 4, 8
_TRUNCATE: Final = 1 << 14
_IOCTL_DEVICE: Final = 1 << 15
_READ: Final = _EXECUTE | _READ_FILE | _READ_FOLDER
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
# Version: the number of access rights it supports. Creating devices, sockets and pipes is never
# granted.
_KINDS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
_MAX_KINDS: Final = 16
_MAKES: Final = (1 << 7) | (1 << 8)
_REMOVES: Final = (1 << 4) | (1 << 5)
_REFER: Final = 1 << 13
_CHANGE: Final = _WRITE_FILE | _MAKES | _REMOVES | _TRUNCATE | _REFER


def restrict_paths(readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Forbid all of the file system except these; return False if that is not possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _WHICH_VERSION)
    if version < 1:
        return False
    known = (1 << _KINDS.get(version, _MAX_KINDS)) - 1
    handled = ctypes.create_string_buffer(struct.pack("=Q", known), 8)
    ruleset = libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(8), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(libc, ruleset, path, _READ & known)
        for path in writable:
            _allow(libc, ruleset, path, (_READ | _CHANGE) & known)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, access: int) -> None:
    # A path that is missing or unreachable needs no rule.
    with suppress(FileNotFoundError, PermissionError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not path.is_dir():
                access &= _OF_FILES
            rule = ctypes.create_string_buffer(struct.pack("=Qi", access, opened), 12)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        finally:
            os.close(opened)
