"""Ports for servers that listen later, and for addresses on which nothing may listen.

A port that the kernel chose and got back may be used a moment later, by another server or by the
local end of a connection. A service needs half a minute on a busy machine until it listens. A test
could take another service's responses for its own, and be refused when that one ends. These ports
are below those that the kernel chooses from, and each is locked while it is in use.
"""

import fcntl
import os
import random
import socket
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final

_FIRST: Final = 10_000
_CHOSEN_BY_THE_KERNEL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


class ReservedPort:
    """A free port of 127.0.0.1; no other test gets it during the lifetime of this object."""

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir()) / f"framekiln-ports-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        end = int(_CHOSEN_BY_THE_KERNEL.read_text().split()[0])
        ports = range(_FIRST, end if end > _FIRST else 32_768)
        for number in random.sample(ports, len(ports)):
            lock = os.open(folder / str(number), os.O_RDWR | os.O_CREAT, 0o600)
            if _is_locked(lock) and _is_free(number):
                self.number = number
                weakref.finalize(self, os.close, lock)
                return
            os.close(lock)
        raise AssertionError("all ports are taken")


def _is_locked(lock: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _is_free(number: int) -> bool:
    with socket.socket() as taken, suppress(OSError):
        taken.bind(("127.0.0.1", number))
        return True
    return False
