"""The times where the fragments of a file start, as far as they have arrived. Windows end there.

They are those of the first video track, else of the first track. Where another track begins earlier
its fragments count until then: what is heard before the first picture is in a window, too.

Until a streamed upload is sealed, only the start times of fragments count, and only as far as all
tracks have arrived. So a boundary never changes, whatever arrives later.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import inf
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.files.lookup import list_stream_fragments, list_stream_tracks
from framekiln.files.model import SCRUB_TRACK, File, FileStatus

_SEALED: Final = (FileStatus.PROCESSING, FileStatus.READY)


@dataclass(frozen=True)
class MediaBoundaries:
    """The known boundaries in rising order; see `windows.complete_windows`."""

    boundaries_ms: tuple[int, ...]
    is_sealed: bool


async def boundaries_of_stream(connection: Connection, file: File) -> MediaBoundaries | None:
    """Return the boundaries of an upload by its fragments; None if it has none."""
    fragments = await list_stream_fragments(connection, file.id)
    tracks = await list_stream_tracks(connection, file.id)
    if not tracks:
        return None
    cut = next((each for each in tracks if each.type == "video"), tracks[0])
    starts = _starts(
        (each.start_ms for each in fragments if each.track_id == cut.track_id),
        (each.start_ms for each in fragments if each.track_id != cut.track_id),
    )
    if file.status in _SEALED:
        return _whole(starts, end_ms=max(each.end_ms or 0 for each in tracks))
    arrived_ms = min(each.end_ms or 0 for each in tracks)
    return MediaBoundaries(tuple(each for each in starts if each <= arrived_ms), False)


def boundaries_of_index(raw: bytes) -> MediaBoundaries:
    """Return the boundaries of a whole file from its fragment index."""
    index: dict[str, Any] = json.loads(raw)
    entries = [entry for key, entry in index.items() if int(key) != SCRUB_TRACK]
    entries = sorted(entries, key=lambda entry: (entry["type"] != "video", entry["track"]))
    first, *others = ([_ms(each["cts"], entry) for each in entry["segments"]] for entry in entries)
    starts = _starts(first, chain.from_iterable(others))
    return _whole(starts, end_ms=max(_end_ms(entry) for entry in entries))


def _starts(cut: Iterable[int], others: Iterable[int]) -> list[int]:
    """Return the rising starts of one track, after those of the others before it begins."""
    # What is before time zero is never played.
    starts = {max(0, each) for each in cut}
    first_ms = min(starts, default=inf)
    return sorted(starts | {max(0, each) for each in others if each < first_ms})


def _whole(starts: list[int], *, end_ms: int) -> MediaBoundaries:
    return MediaBoundaries((*(each for each in starts if each < end_ms), end_ms), True)


def _end_ms(entry: dict[str, Any]) -> int:
    last = entry["segments"][-1]
    return _ms(last["cts"] + last["duration"], entry)


def _ms(ticks: int, entry: dict[str, Any]) -> int:
    timescale: int = entry["timescale"]
    return round(Fraction(ticks) * 1000 / timescale)
