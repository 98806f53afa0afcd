"""Writes pixels directly into an array of a page, which is found by a mark in it.

A page that needs an image fills the start of an array with random bytes and reports them. Finding
the array costs some milliseconds once. After that, each image is one memory copy instead of a
transfer through the debugging protocol. If it cannot be found, the caller sends the bytes.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.capture.process_memory import Block, find_blocks

_MIN_MARK_BYTES: Final = 32


class PageBuffers:
    """The arrays of one page found so far, by their mark in hex."""

    def __init__(self, browser_pid: int) -> None:
        self._browser_pid = browser_pid
        self._blocks: dict[str, Block | None] = {}

    def write(self, mark: str | None, pixels: NDArray[np.uint8]) -> bool:
        """Copy `pixels` into the array with that mark; return False if it cannot be reached."""
        if mark is None:
            return False
        if mark not in self._blocks:
            self._blocks[mark] = self._find(mark, pixels.nbytes)
        block = self._blocks[mark]
        return block is not None and block.write(np.ascontiguousarray(pixels))

    def _find(self, mark: str, size_bytes: int) -> Block | None:
        try:
            start = bytes.fromhex(mark)
        except ValueError:
            return None
        if len(start) < _MIN_MARK_BYTES:
            return None
        found = [*find_blocks(self._browser_pid, "renderer", start=start, size_bytes=size_bytes)]
        # Two addresses have the same random bytes: one is a copy, and it is unknown which.
        return found[0] if len(found) == 1 else None
