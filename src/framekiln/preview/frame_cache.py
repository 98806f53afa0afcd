"""Encoded frames in memory, within a limit. The oldest are dropped first."""

import threading
from collections import OrderedDict
from typing import Final

from framekiln.preview.model import FrameFormat

DEFAULT_CACHE_BYTES: Final = 256 << 20
FrameKey = tuple[str, int, FrameFormat]
"""Version, number and format of a frame."""


class FrameCache:
    """Used by the frame thread, its encoders and the server."""

    def __init__(self, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._frames: OrderedDict[FrameKey, bytes] = OrderedDict()
        self._size_bytes = 0

    def get(self, key: FrameKey) -> bytes | None:
        """Return a frame, which then counts as used."""
        with self._lock:
            if key in self._frames:
                self._frames.move_to_end(key)
            return self._frames.get(key)

    def put(self, key: FrameKey, data: bytes) -> None:
        """Keep a frame; drop those that were not used for longest."""
        with self._lock:
            self._size_bytes += len(data) - len(self._frames.pop(key, b""))
            self._frames[key] = data
            while self._size_bytes > self._max_bytes and self._frames:
                _, dropped = self._frames.popitem(last=False)
                self._size_bytes -= len(dropped)

    def keep_only(self, version: str) -> None:
        """Drop the frames of all other versions."""
        with self._lock:
            kept = {key: data for key, data in self._frames.items() if key[0] == version}
            self._frames = OrderedDict(kept)
            self._size_bytes = sum(map(len, kept.values()))

    def ranges(self, version: str) -> list[tuple[int, int]]:
        """Return the first and last number of each run of frames that are here."""
        with self._lock:
            numbers = sorted({key[1] for key in self._frames if key[0] == version})
        found: list[tuple[int, int]] = []
        for number in numbers:
            if found and found[-1][1] == number - 1:
                found[-1] = (found[-1][0], number)
            else:
                found.append((number, number))
        return found
