"""Opens the sources of one film in a confined child: facts, frames of videos, and images.

The worker never decodes a stranger's file itself. What the child answers is checked here, and
frames are read from memory that both sides see.
"""

import threading
from bisect import bisect_right
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final

from framekiln.kit.closeable import Closeable
from framekiln.kit.confined.limits import SessionLimits
from framekiln.kit.confined.session import ConfinedSession, SessionPool
from framekiln.kit.confined.session_source import SessionSource
from framekiln.kit.media_kind import MediaKind
from framekiln.media.frame_slots import (
    FramePlanes,
    Pixels,
    plane_views,
    planes_bytes,
    rgba_bytes,
    rgba_view,
)
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.timeline import read_fraction

_CHILD: Final = "framekiln.media.served_sources"
_COPIES: Final = "framekiln.media.remux.coded_source"
"""Imported in advance, too."""
_MAX_TEXT_CHARS: Final = 100
_MAX_FRAMES: Final = 20_000
_MAX_SIDE_PX: Final = 16_384
_MAX_PIXELS: Final = 8192 * 8192
# The frame that is shown stays whole while the next one is written.
_SLOTS: Final = 2


@cache
def source_pool() -> SessionPool:
    """Return the pool of this process; its zygote starts with the first source."""
    return SessionPool([_CHILD, _COPIES])


class SourceSession(Closeable):
    """The sources of one film. A context manager; afterwards its child has ended.

    Threads may share it; what it opens is owned by one thread.
    """

    def __init__(self, limits: SessionLimits | None = None) -> None:
        self._limits = limits
        self._session: ConfinedSession | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the child."""
        with self._lock:
            if self._session is not None:
                self._session.close()
            self._session = None

    def probe(self, path: Path, *, name: str | None = None) -> ProbedSource:
        """Return the facts of a source, or raise why it cannot be used."""
        source = self.open("ServedFacts", path, {}, name=name)
        try:
            return checked_facts(source)
        finally:
            source.close()

    def open_frames(
        self, kind: MediaKind, path: Path, *, size: tuple[int, int], name: str | None = None
    ) -> "SessionFrames":
        """Open the frames of a video or an image by time, as RGBA of a size."""
        served = "ServedPictures" if kind is MediaKind.IMAGE else "ServedVideo"
        return SessionFrames(self, served, path, size=size, has_planes=False, name=name)

    def open_planes(
        self, path: Path, *, size: tuple[int, int], name: str | None = None
    ) -> "SessionFrames":
        """Open the frames of a video by time, as 4:2:0 planes of an even size."""
        return SessionFrames(self, "ServedVideo", path, size=size, has_planes=True, name=name)

    def open_image(self, path: Path, *, name: str | None = None) -> "SessionImage":
        """Open an image file: one frame, or those of an animation."""
        return SessionImage(self.open("ServedImage", path, {}, name=name))

    def open(
        self, served: str, path: Path, args: dict[str, Any], *, name: str | None = None
    ) -> SessionSource:
        """Open a source with a class of `served_sources`, or "package.module:Class"."""
        with self._lock:
            if self._session is None:
                self._session = source_pool().open(self._limits)
            session = self._session
        kind = served if ":" in served else f"{_CHILD}:{served}"
        return session.open(kind, path, args, name=name)


class SessionFrames:
    """Frames by time, with the interface of `FrameSource`."""

    def __init__(
        self,
        session: SourceSession,
        served: str,
        path: Path,
        *,
        size: tuple[int, int],
        has_planes: bool,
        name: str | None,
    ) -> None:
        args = {"width_px": size[0], "height_px": size[1], "has_planes": has_planes}
        self._size = size
        self._source = session.open(served, path, args, name=name)
        frame_bytes = planes_bytes(size) if has_planes else rgba_bytes(size)
        self._source.share(slot_bytes=frame_bytes, slots=_SLOTS)
        self._last: tuple[Fraction, Fraction, dict[str, Any]] | None = None

    def shown_ms(self, ms: Fraction) -> Fraction:
        """Return when the frame shown at `ms` starts; equal for equal frames."""
        return self._find(ms)[0]

    def rgba_at(self, ms: Fraction) -> Pixels:
        """Return the frame at source time `ms`: height x width x RGBA, straight alpha.

        The array is read-only, and valid until the next frame but one is asked for.
        """
        return rgba_view(self._source.slot(self._find(ms)[1]), self._size)

    def yuv_at(self, ms: Fraction) -> FramePlanes:
        """Return the frame at source time `ms` as planes; valid as for `rgba_at`."""
        answer = self._find(ms)[1]
        planes = plane_views(self._source.slot(answer), self._size)
        if answer.get("has_alpha") is True:
            return planes
        return FramePlanes(planes.luma, planes.blue, planes.red, None)

    def close(self) -> None:
        """Close it in the child."""
        self._source.close()

    def _find(self, ms: Fraction) -> tuple[Fraction, dict[str, Any]]:
        # Without memory it was closed in the child meanwhile, and is opened again.
        if self._last is None or self._last[0] != ms or self._source.memory is None:
            answer = self._source.ask({"ms": str(ms)})
            shown_ms = _fraction(self._source, answer.get("shown_ms"))
            self._last = (ms, shown_ms, answer)
        return self._last[1:]


class SessionImage:
    """An image file, with the interface of `ImageSource`."""

    def __init__(self, source: SessionSource) -> None:
        self._source = source
        facts = source.facts
        self.size: tuple[int, int] = (
            _whole(source, facts.get("width_px"), most=_MAX_SIDE_PX),
            _whole(source, facts.get("height_px"), most=_MAX_SIDE_PX),
        )
        if self.size[0] * self.size[1] > _MAX_PIXELS:
            source.refuse("a picture that is too large")
        self.ends_ms = [_fraction(source, each) for each in _list(source, facts.get("ends_ms"))]
        """Where each picture of an animation ends, in one run; empty for a still."""
        if self.ends_ms != sorted(self.ends_ms) or (self.ends_ms and self.ends_ms[-1] <= 0):
            source.refuse("pictures that are not in order")
        plays = facts.get("plays")
        self.plays = None if plays is None else _whole(source, plays, most=1 << 32)
        """How often an animation plays; None means forever."""
        source.share(slot_bytes=rgba_bytes(self.size), slots=_SLOTS)
        self._last: tuple[int, dict[str, Any]] | None = None

    def number_at(self, ms: Fraction) -> int:
        """Return the number of the frame shown at an instant; animations repeat forever."""
        if not self.ends_ms:
            return 0
        return bisect_right(self.ends_ms, ms % self.ends_ms[-1])

    def rgba(self, number: int) -> Pixels:
        """Return one frame: height x width x RGBA, straight alpha.

        The array is read-only, and valid until the next frame but one is asked for.
        """
        if self._last is None or self._last[0] != number or self._source.memory is None:
            self._last = (number, self._source.ask({"number": number}))
        return rgba_view(self._source.slot(self._last[1]), self.size)

    def close(self) -> None:
        """Close it in the child."""
        self._source.close()


def checked_facts(source: SessionSource) -> ProbedSource:
    """Return the facts that a child reported; raise if they cannot be."""
    facts = source.facts
    try:
        for name in ("duration_s", "fps"):
            if facts[name] is not None:
                _fraction(source, facts[name])
        for each in _list(source, facts["frame_ms"]):
            _fraction(source, each)
        found = ProbedSource.from_json(facts)
    except (TypeError, ValueError, KeyError):
        source.refuse("facts in another form")
    _check_types(source, found)
    return found


_MAX_NUMBER: Final = 1 << 62


def _check_types(source: SessionSource, found: ProbedSource) -> None:
    texts = (found.codec, found.sound_codec)
    numbers = (found.width_px, found.height_px, found.plays, found.rate_hz, found.channels)
    always = (found.size_bytes, found.rotation_degrees)
    is_right = (
        all(each is None or _is_text(each) for each in texts)
        and all(each is None or _is_number(each) for each in numbers)
        and all(_is_number(each) for each in always)
        and isinstance(found.has_alpha, bool)
        and (found.duration_s is None or found.duration_s >= 0)
        and (found.fps is None or found.fps > 0)
    )
    if not is_right:
        source.refuse("facts with other types")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_TEXT_CHARS


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value < _MAX_NUMBER  # type: ignore[operator]


def _fraction(source: SessionSource, value: object) -> Fraction:
    try:
        return read_fraction(value)
    except ValueError:
        source.refuse("a time that is not a fraction")


def _whole(source: SessionSource, value: object, *, most: int) -> int:
    if type(value) is not int or not 0 < value <= most:
        source.refuse("a number out of range")
    return value


def _list(source: SessionSource, value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > _MAX_FRAMES:
        source.refuse("a list that is too long")
    return value
