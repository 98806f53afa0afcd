"""Web Audio of scripts: rendered up to the time of the film, and stored.

Chromium renders it in its own threads in real time, so the page's clocks wait for it. The page side
is `runtime/src/web_audio`. Costs nothing until a page creates its first AudioContext.
"""

import base64
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final

from framekiln.capture.cdp import Params
from framekiln.capture.errors import PageNeverSettled, PageThrew, ProtocolError
from framekiln.capture.page_clock import CREEP_US, PageClock
from framekiln.capture.page_session import PageSession

_BINDING: Final = "__framekilnSound"
# Scripts see played audio and `ended` events after each step; also at low frame rates.
_MAX_STEP_US: Final = 40_000
# The page time that a step may take; the frame itself is drawn on time.
_MARGIN_US: Final = 50
_MAX_HELD_BYTES: Final = 4 << 20
_SAMPLE_BYTES: Final = 8
_COPIED_BYTES: Final = 1 << 20
_MAX_SOUNDS: Final = 256
# The range that Chromium allows.
_RATES_HZ: Final = range(3_000, 768_001)
_FIRST_PAUSE_S: Final = 0.0002
_MAX_PAUSE_S: Final = 0.02


@dataclass(frozen=True)
class ContextSound:
    """The audio of one AudioContext: interleaved stereo float32, from sample `first` of the film.

    `rate_hz` is the unit of sample positions; gaps between pieces are silent.
    """

    rate_hz: int
    first: int
    _file: IO[bytes] = field(repr=False)

    def add(self, place: int, samples: bytes) -> None:
        """Store a piece that begins at sample `place` of the film."""
        self._file.seek((place - self.first) * _SAMPLE_BYTES)
        self._file.write(samples)

    def samples(self) -> Iterator[bytes]:
        """Yield all of it, piece by piece."""
        self._file.seek(0)
        while piece := self._file.read(_COPIED_BYTES):
            yield piece

    def close(self) -> None:
        """Delete the audio."""
        self._file.close()


class WebAudio:
    """The Web Audio of one page. Owned by the page's thread."""

    def __init__(self, session: PageSession, clock: PageClock) -> None:
        self._session = session
        self._clock = clock
        # The frames of the page that have audio; None is the page itself.
        self._frames: list[str | None] = []
        self._sounds: dict[tuple[str | None, Any], ContextSound] = {}
        self._warnings: dict[str, None] = {}
        self._at_us = 0

    def listen(self) -> None:
        """Listen for the first AudioContext of a script; call this before the page is loaded."""
        self._session.listen("Runtime.bindingCalled", self._on_started)
        self._session.call("Runtime.addBinding", {"name": _BINDING})

    @property
    def has_begun(self) -> bool:
        """Whether the page has created an AudioContext."""
        return bool(self._frames)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Audio that differs from what a script intended."""
        return tuple(self._warnings)

    def advance_to(self, at_us: int) -> None:
        """Advance the page's clock to a time of the film, and render all audio up to it."""
        while self.has_begun and self._at_us + _MAX_STEP_US < at_us:
            step_us = (self._at_us // _MAX_STEP_US + 1) * _MAX_STEP_US
            self._clock.advance_to(step_us)
            self._render(step_us)
        self._clock.advance_to(at_us - _MARGIN_US if self.has_begun else at_us)
        self._render(at_us)
        self._clock.advance_to(at_us)

    def finish(self, at_us: int) -> None:
        """Render audio to the end of the film; no script runs after that."""
        self._render(at_us)
        self._fetch()

    def sounds(self) -> list[ContextSound]:
        """Return the audio so far."""
        return list(self._sounds.values())

    def close(self) -> None:
        """Delete all audio."""
        for sound in self._sounds.values():
            sound.close()

    def _render(self, at_us: int) -> None:
        self._at_us = at_us
        if not self.has_begun:
            return
        for frame in [*self._frames]:
            self._ask(frame, f"advanceSound({at_us / 1000})")
        deadline = self._session.now_s + self._session.within_s
        # Results of Chromium's threads reach the page only when its clock advances.
        self._clock.advance(CREEP_US)
        pause_s = _FIRST_PAUSE_S
        while not self._is_done():
            if self._session.now_s > deadline:
                raise PageNeverSettled(
                    f"while {self._session.activity}, the sound of the page's AudioContext was not"
                    f" rendered within {self._session.within_s:g} s",
                    waiting_for=["AudioContext"],
                )
            # Each check advances the page's time, so check less and less often.
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _MAX_PAUSE_S)
            self._clock.advance(CREEP_US)

    def _is_done(self) -> bool:
        states = [state for frame in [*self._frames] if (state := self._ask(frame, "soundState()"))]
        for state in states:
            if state["failure"]:
                raise PageThrew(str(state["failure"]))
            self._warnings |= dict.fromkeys(state["warnings"])
        if not all(state["isDone"] for state in states):
            return False
        if sum(state["bytes"] for state in states) > _MAX_HELD_BYTES:
            self._fetch()
        return True

    def _fetch(self) -> None:
        for frame in [*self._frames]:
            for piece in self._ask(frame, "takeSound()") or ():
                self._keep(frame, piece)

    def _keep(self, frame: str | None, piece: dict[str, Any]) -> None:
        """Store a piece of audio; scripts may have corrupted its sample positions."""
        context, place, rate_hz = (piece.get(name) for name in ("context", "place", "rateHz"))
        if not (isinstance(rate_hz, int) and isinstance(place, int) and rate_hz in _RATES_HZ):
            raise _miscounted(place, rate_hz)
        sound = self._sounds.get((frame, context)) or self._open(frame, context, rate_hz, place)
        if not 0 <= sound.first <= place <= self._at_us * rate_hz // 1_000_000:
            raise _miscounted(place, rate_hz)
        sound.add(place, base64.b64decode(piece["samples"]))

    def _open(self, frame: str | None, context: Any, rate_hz: int, first: int) -> ContextSound:
        if len(self._sounds) == _MAX_SOUNDS:
            raise PageThrew(f"the page plays more than {_MAX_SOUNDS} AudioContexts")
        # Closed with the page.
        sound = ContextSound(rate_hz, first, tempfile.TemporaryFile())  # noqa: SIM115
        self._sounds[frame, context] = sound
        return sound

    def _ask(self, frame: str | None, what: str) -> Any:
        try:
            return self._session.evaluate(f"__framekiln.{what}", context=frame)
        except ProtocolError:
            # An iframe may have been removed, with all of its audio.
            if frame is None:
                raise
            self._frames.remove(frame)
            return None

    def _on_started(self, params: Params) -> None:
        if params["name"] != _BINDING:
            return
        frame = self._session.inner.find(params["executionContextId"])
        if frame not in self._frames:
            self._frames.append(frame)


def _miscounted(place: Any, rate_hz: Any) -> PageThrew:
    return PageThrew(
        f"the page's AudioContext miscounts its samples: {place!s:.40} at {rate_hz!s:.40} Hz;"
        " does a script replace what is built in?"
    )
