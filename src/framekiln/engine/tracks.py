"""The tracks of a composition: what is in it, and when. Values only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_TRACKS: Final = 1000
_MAX_NAME_CHARS: Final = 200
_KINDS: Final = ("group", "clip", "text", "sound", "layer")


@dataclass(frozen=True)
class TimelineTrack:
    """Something in a composition, between two instants of the film."""

    kind: str
    """group, clip, text, sound or layer."""
    name: str
    depth: int
    """How many groups it is in."""
    start_ms: float
    end_ms: float
    selector: str | None = None
    """A CSS selector that finds the element of a page."""


def page_tracks(entries: Iterable[Mapping[str, Any]]) -> tuple[TimelineTrack, ...]:
    """Read the tracks that a page reports; `runtime/src/tracks.ts` defines their fields."""
    found = []
    for entry in list(entries)[:MAX_TRACKS]:
        selector = str(entry["selector"])[:_MAX_NAME_CHARS]
        found.append(
            TimelineTrack(
                kind=entry["kind"] if entry["kind"] in _KINDS else "clip",
                name=str(entry["name"])[:_MAX_NAME_CHARS] or selector,
                depth=int(entry["depth"]),
                start_ms=float(entry["startMs"]),
                end_ms=float(entry["endMs"]),
                selector=selector,
            )
        )
    return tuple(found)
