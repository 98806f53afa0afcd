"""Checks a fragment index that a client made: all its offsets must be inside the tracks.

For tracks that are not uploaded yet it returns how many bytes they need. Runs in a confined child
(`task`), because an index may be large. Pure except for the two files. Unknown fields are kept:
players may use them.
"""

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NoReturn

from framekiln.files.errors import InvalidIndex

_SCRUB: Final = "-1"
_TYPES: Final = ("audio", "video")
_SEGMENT_FIELDS: Final = ("cts", "dts", "duration", "offset", "size")
_TRACK_ID: Final = re.compile(r"[1-9][0-9]{0,3}|10000")
_MAX_TRACKS: Final = 64
_MAX_NUMBER: Final = (1 << 53) - 1
_MAX_SIDE_PX: Final = 1 << 16


FRAGMENT_INDEX_TASK: Final = "framekiln.files.fragment_index:fragment_index_task"


def fragment_index_task(
    args: dict[str, Any], report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Read `uploaded` and write the accepted index to `accepted`; `sizes` has bytes by track.

    With `may_wait` the index may name tracks that are not in `sizes`.
    """
    sizes = args["sizes"]
    raw = Path(args["uploaded"]).read_bytes()
    index = check_index(raw, sizes, may_wait=args["may_wait"])
    text = json.dumps(index, separators=(",", ":"), allow_nan=False)
    Path(args["accepted"]).write_text(text, encoding="ascii")
    needs = {key: bytes_needed(entry) for key, entry in index.items() if key not in sizes}
    return {"tracks": [int(key) for key in index], "needs": needs, **index_facts(index)}


def check_index(raw: bytes, sizes: Mapping[str, int], *, may_wait: bool = False) -> dict[str, Any]:
    """Return the index that is served, or raise `InvalidIndex`."""
    index = _parse(raw)
    if not isinstance(index, dict):
        _refuse("must be an object with an entry for each track")
    if _SCRUB not in sizes:
        # Tools list the scrub track without uploading it.
        index.pop(_SCRUB, None)
    if not index:
        _refuse("has no track")
    for key, entry in index.items():
        if key not in sizes and not (may_wait and _TRACK_ID.fullmatch(key)):
            _refuse(f"names track {key[:20]!r}, which has not been uploaded")
        _check_entry(key, entry, sizes.get(key))
    if len(index) > _MAX_TRACKS:
        _refuse(f"names more than {_MAX_TRACKS} tracks")
    return index


def bytes_needed(entry: Mapping[str, Any]) -> int:
    """Return how many bytes a track needs for all offsets of its entry."""
    spans = [entry["initSegment"], *entry["segments"]]
    return max(int(span["offset"] + span["size"]) for span in spans)


def index_facts(index: Mapping[str, Any]) -> dict[str, Any]:
    """Return the picture size and the end of the longest track."""
    shown = [entry for key, entry in index.items() if key != _SCRUB] or list(index.values())
    pictures = [entry for entry in shown if entry["type"] == "video"]
    ends_ms = [_end(entry) * Fraction(1000, entry["timescale"]) for entry in shown]
    first: dict[str, Any] = min(pictures, key=lambda entry: entry["track"], default={})
    return {
        "width": first.get("width"),
        "height": first.get("height"),
        "duration_ms": round(max(ends_ms)),
    }


def _end(entry: Mapping[str, Any]) -> int:
    """Return when a track ends; its duration counts from its start, which may be late."""
    start = entry["segments"][0]["cts"] if entry["segments"] else 0
    return int(max(0, start) + entry["duration"])


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        _refuse("is not JSON")


def _check_entry(key: str, entry: Any, size: int | None) -> None:
    where = f"track {key}"
    if not isinstance(entry, dict):
        _refuse(f"{where} must be an object")
    if entry.get("track") != int(key):
        _refuse(f"{where}: `track` must be {key}")
    if entry.get("type") not in _TYPES:
        _refuse(f"{where}: `type` must be audio or video")
    _check_number(entry, "timescale", where, least=1)
    _check_number(entry, "duration", where)
    for side in ("width", "height"):
        if entry.get(side) is not None:
            _check_number(entry, side, where, most=_MAX_SIDE_PX)
    _check_span(entry.get("initSegment"), f"{where}: initSegment", size)
    segments = entry.get("segments")
    if not isinstance(segments, list):
        _refuse(f"{where}: `segments` must be an array")
    for number, segment in enumerate(segments):
        _check_segment(segment, f"{where}: segment {number}", size)


def _check_segment(segment: Any, where: str, size: int | None) -> None:
    _check_span(segment, where, size)
    for name in _SEGMENT_FIELDS:
        # The first frame may come before time zero.
        _check_number(segment, name, where, least=-_MAX_NUMBER)


def _check_span(span: Any, where: str, size: int | None) -> None:
    if not isinstance(span, dict):
        _refuse(f"{where} must be an object")
    _check_number(span, "offset", where)
    _check_number(span, "size", where, least=1)
    if size is not None and span["offset"] + span["size"] > size:
        _refuse(f"{where} ends at byte {span['offset'] + span['size']}, but the track has {size}")


def _check_number(
    entry: dict[str, Any], name: str, where: str, *, least: int = 0, most: int = _MAX_NUMBER
) -> None:
    value = entry.get(name)
    # In Python, True is an int.
    if type(value) is not int or not least <= value <= most:
        _refuse(f"{where}: `{name}` must be a whole number, {least} to {most}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _refuse(reason: str) -> NoReturn:
    raise InvalidIndex(f"the index {reason}")
