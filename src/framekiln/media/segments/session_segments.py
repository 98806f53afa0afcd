"""Outlines and segments of a film's sources, made in a confined child.

For pages that play a source in segments while they are rendered. Workers of playback use the tasks
of `segments/tasks` instead.
"""

from pathlib import Path
from typing import Any, Final

from framekiln.kit.confined.session_source import SessionSource
from framekiln.kit.confined.slots import SlotMemory
from framekiln.media.errors import UnreadableMedia
from framekiln.media.segments.outline import make_outline
from framekiln.media.segments.renditions import Outline, Rendition
from framekiln.media.segments.tasks import make_segment
from framekiln.media.source_session import SourceSession

_MAX_BYTES: Final = 256 << 20


class ServedSegments:
    """The child's side: a source in segments."""

    def __init__(self, path: Path, _args: dict[str, Any]) -> None:
        self.facts: dict[str, Any] = {}
        self._path = path

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        """Return the outline, or the slot with segment `number` of `rendition` and its length."""
        if "rendition" not in request:
            return make_outline(self._path, self._path).to_json()
        assert memory is not None
        rendition = Rendition.from_json(request["rendition"])
        data = make_segment(self._path, rendition, request["number"], is_primed=True)
        number, slot = memory.next_slot()
        if len(data) > len(slot):
            raise UnreadableMedia(
                f"{self._path.name}: a segment of {len(data)} bytes; at most {len(slot)} are made"
            )
        slot[: len(data)] = data
        return {"slot": number, "bytes": len(data)}

    def close(self) -> None:
        """Nothing is open."""


def outline_in_child(path: Path) -> Outline:
    """Return the outline of a source with both tracks."""
    with SourceSession() as session:
        source = _open(session, path)
        answer = source.ask({})
        try:
            return Outline.from_json(answer)
        except (TypeError, ValueError, KeyError, AttributeError):
            source.refuse("an outline in another form")


def segment_in_child(path: Path, rendition: Rendition, number: int) -> bytes:
    """Return a segment of a source, from 1, without the track's header; for Chromium."""
    with SourceSession() as session:
        source = _open(session, path)
        # Memory is taken only as far as it is written.
        source.share(slot_bytes=_MAX_BYTES, slots=1)
        answer = source.ask({"rendition": rendition.to_json(), "number": number})
        size = answer.get("bytes")
        if type(size) is not int or not 0 < size <= _MAX_BYTES:
            source.refuse("a segment of another size")
        return bytes(source.slot(answer)[:size])


def _open(session: SourceSession, path: Path) -> SessionSource:
    return session.open(f"{__name__}:ServedSegments", path, {})
