"""Memory of Chromium's processes: find a block by its contents, read it, write it.

Chromium is our own child process, so the kernel allows access. This module does not know what the
blocks contain.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.capture.process_tree import processes_of_type

_MAX_REGION_BYTES: Final = 512 << 20
# Such blocks start near the beginning of their memory region; reading whole regions is slow.
_SEARCHED_BYTES: Final = 4 << 20

_libc = ctypes.CDLL(None, use_errno=True)


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class Block:
    """A block of another process's memory."""

    pid: int
    address: int

    def after(self, size_bytes: int) -> "Block":
        """Return the rest of the block after that many bytes."""
        return Block(self.pid, self.address + size_bytes)

    def read_into(self, pixels: NDArray[np.uint8]) -> bool:
        """Copy from it; return False if it no longer exists."""
        return _copied(_libc.process_vm_readv, self, pixels) == pixels.nbytes

    def write(self, pixels: NDArray[np.uint8]) -> bool:
        """Copy `pixels` to it; return False if it no longer exists."""
        return _copied(_libc.process_vm_writev, self, pixels) == pixels.nbytes


def find_blocks(leader: int, kind: str, *, start: bytes, size_bytes: int) -> Iterator[Block]:
    """Yield the blocks of that size that begin with `start`, in Chromium's `kind` processes.

    Each region is read when it is its turn: who needs one block only saves the others.
    """
    head = bytearray(_SEARCHED_BYTES)
    copy = np.frombuffer(head, np.uint8)
    for pid in processes_of_type(leader, kind):
        for low, high in _writable_regions(pid, at_least=size_bytes):
            length = _copied(_libc.process_vm_readv, Block(pid, low), copy[: high - low])
            for offset in _places_of(start, head, length):
                if low + offset + size_bytes <= high:
                    yield Block(pid, low + offset)


def _places_of(start: bytes, memory: bytearray, length: int) -> Iterator[int]:
    """Yield all matches: the first may be a copy of the block."""
    offset = memory.find(start, 0, length)
    while offset >= 0:
        yield offset
        offset = memory.find(start, offset + len(start), length)


def _copied(call: "ctypes._NamedFuncPointer", block: Block, pixels: NDArray[np.uint8]) -> int:
    """Return the number of copied bytes; 0 if the kernel refuses."""
    local = _IoVec(pixels.ctypes.data, pixels.nbytes)
    remote = _IoVec(block.address, pixels.nbytes)
    copied: int = call(
        block.pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, ctypes.c_ulong(0)
    )
    return max(copied, 0)


def _writable_regions(pid: int, *, at_least: int) -> Iterator[tuple[int, int]]:
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return
    for line in maps.splitlines():
        span, permissions = line.split()[:2]
        start, end = (int(part, 16) for part in span.split("-"))
        if permissions.startswith("rw") and at_least <= end - start <= _MAX_REGION_BYTES:
            yield start, end
