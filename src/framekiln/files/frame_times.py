"""The stored times of a video's frames, as a confined child writes them."""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.json_scan import scan_json

MAX_TIMES_BYTES: Final = 32 << 20
_MAX_FRAMES: Final = 1_000_000
# `frame_count`, `tick_s` and `end`.
_MAX_HEAD_BYTES: Final = 1000
_STARTS: Final = re.compile(rb'"starts"\s*:\s*\[')
_END: Final = b"]}"
# Other threads can run between two pieces; the parser itself lets none run.
_PIECE_BYTES: Final = 64 << 10
_MAX_NUMBER_BYTES: Final = 100


@dataclass(frozen=True)
class StoredTimes:
    """When frames begin, in ticks of `tick_s` (numerator and denominator)."""

    tick_s: tuple[int, int]
    starts: Sequence[int]

    @property
    def size_bytes(self) -> int:
        """What they take in memory."""
        return 8 * len(self.starts)


def read_times(raw: bytes) -> StoredTimes:
    """Return the times that a child wrote, or raise `ConfinedFailed`."""
    found = _STARTS.search(raw, 0, _MAX_HEAD_BYTES)
    if found is None or not raw.endswith(_END) or len(raw) > MAX_TIMES_BYTES:
        raise ConfinedFailed("the times of the frames are not what was expected")
    try:
        numerator, denominator = json.loads(raw[: found.start()] + b'"starts":[]}')["tick_s"]
        starts = array("q")
        for numbers in _pieces(raw, found.end(), len(raw) - len(_END)):
            starts.extend(_integers(numbers))
            if len(starts) > _MAX_FRAMES:
                raise ConfinedFailed(f"there are times of more than {_MAX_FRAMES:,} frames")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ConfinedFailed("the times of the frames are not what was expected") from error
    _integers([numerator, denominator])
    if denominator <= 0 or not starts:
        raise ConfinedFailed("the times of the frames have no unit, or there are none")
    return StoredTimes((numerator, denominator), starts)


def has_valid_times(path: Path) -> bool:
    """Return whether a child wrote times to a file, and they can be stored."""
    if not path.is_file() or path.stat().st_size > MAX_TIMES_BYTES:
        return False
    try:
        read_times(path.read_bytes())
    except ConfinedFailed:
        return False
    return True


def _pieces(raw: bytes, start: int, end: int) -> Iterator[list[Any]]:
    """Yield the numbers of a list in JSON, some thousands at a time."""
    while start <= end:
        stop = end
        if end - start > _PIECE_BYTES + _MAX_NUMBER_BYTES:
            stop = raw.index(b",", start + _PIECE_BYTES, start + _PIECE_BYTES + _MAX_NUMBER_BYTES)
        piece = raw[start:stop]
        scan_json(piece, max_values=_PIECE_BYTES)
        numbers = json.loads(b"[" + piece + b"]")
        if not numbers:
            raise ValueError("a comma without a number after it")
        yield numbers
        start = stop + 1


def _integers(values: list[Any]) -> list[int]:
    if any(type(each) is not int for each in values):
        raise ConfinedFailed("the times of the frames are not integers")
    return values
