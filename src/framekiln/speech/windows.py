"""Packs speech into windows, without long pauses. Pure.

The recognizer costs the same for a full window as for one word, so windows are filled.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from framekiln.speech.model import SAMPLE_HZ, Samples
from framekiln.speech.voice_activity import SpeechSpan

WINDOW_MS: Final = 28_000

# Soft word onsets are easily mistaken for noise; extra silence does no harm.
_LEAD_MS: Final = 700
_TAIL_MS: Final = 500
_LOOK_BACK_MS: Final = 8_000
# Longer than the silence inside a consonant.
_QUIET_MS: Final = 300
_PER_MS: Final = SAMPLE_HZ // 1000


@dataclass(frozen=True)
class SpeechWindow:
    """Consecutive spans of the audio, together no longer than a window."""

    pieces: tuple[SpeechSpan, ...]

    @property
    def duration_ms(self) -> int:
        """Total duration of all spans."""
        return sum(piece.duration_ms for piece in self.pieces)

    def cut(self, samples: Samples) -> Samples:
        """Return the samples of the spans."""
        parts = [samples[p.start_ms * _PER_MS : p.end_ms * _PER_MS] for p in self.pieces]
        return np.concatenate(parts)

    def to_source(self, start_ms: int, end_ms: int) -> SpeechSpan:
        """Return the position in the audio of a span of the window; it never crosses a cut."""
        middle_ms, before_ms = (start_ms + end_ms) // 2, 0
        for piece in self.pieces:
            if middle_ms < before_ms + piece.duration_ms:
                break
            before_ms += piece.duration_ms
        else:
            before_ms -= piece.duration_ms
        shift_ms = piece.start_ms - before_ms
        start = min(max(start_ms + shift_ms, piece.start_ms), piece.end_ms)
        return SpeechSpan(start, max(start, min(end_ms + shift_ms, piece.end_ms)))

    def split(self, at_ms: int) -> "tuple[SpeechWindow, SpeechWindow]":
        """Return the parts before and after an instant of the window, neither empty."""
        left: list[SpeechSpan] = []
        right: list[SpeechSpan] = []
        for piece in self.pieces:
            cut_ms = min(max(piece.start_ms + at_ms, piece.start_ms), piece.end_ms)
            at_ms -= piece.duration_ms
            if cut_ms > piece.start_ms:
                left.append(SpeechSpan(piece.start_ms, cut_ms))
            if cut_ms < piece.end_ms:
                right.append(SpeechSpan(cut_ms, piece.end_ms))
        return SpeechWindow(tuple(left)), SpeechWindow(tuple(right))


def pack_windows(
    spans: list[SpeechSpan], samples: Samples, *, window_ms: int = WINDOW_MS
) -> list[SpeechWindow]:
    """Return windows that cover all spans, each with some padding."""
    windows: list[SpeechWindow] = []
    pieces: list[SpeechSpan] = []
    padded = _pad(spans, len(samples) // _PER_MS)
    for span in _split_long(padded, samples, window_ms=window_ms):
        if pieces and SpeechWindow((*pieces, span)).duration_ms > window_ms:
            windows.append(SpeechWindow(tuple(pieces)))
            pieces = []
        pieces.append(span)
    return [*windows, SpeechWindow(tuple(pieces))] if pieces else windows


def quietest_ms(samples: Samples, start_ms: int, end_ms: int) -> int:
    """Return the middle of the quietest 300 ms; of several equal ones, the most central."""
    step_ms = 10
    part = samples[start_ms * _PER_MS : end_ms * _PER_MS]
    steps = len(part) // (step_ms * _PER_MS)
    width = _QUIET_MS // step_ms
    if steps <= width:
        return (start_ms + end_ms) // 2
    powers = np.square(part[: steps * step_ms * _PER_MS], dtype=np.float64)
    powers = powers.reshape(steps, -1).sum(axis=1)
    sums = np.convolve(powers, np.ones(width), "valid")
    # Whole decibels: smaller differences count as equally quiet.
    loudness = np.round(10 * np.log10(sums / (_QUIET_MS * _PER_MS) + 1e-8))
    centre = np.abs(np.arange(len(sums)) - (len(sums) - 1) / 2)
    best = np.lexsort((centre, loudness))[0]
    return int(start_ms + best * step_ms + _QUIET_MS // 2)


def _pad(spans: list[SpeechSpan], duration_ms: int) -> list[SpeechSpan]:
    """Widen spans slightly, and join those that then touch."""
    wide: list[SpeechSpan] = []
    for span in spans:
        start_ms = max(0, span.start_ms - _LEAD_MS)
        end_ms = min(duration_ms, span.end_ms + _TAIL_MS)
        if wide and start_ms <= wide[-1].end_ms:
            wide[-1] = SpeechSpan(wide[-1].start_ms, end_ms)
        elif end_ms > start_ms:
            wide.append(SpeechSpan(start_ms, end_ms))
    return wide


def _split_long(spans: list[SpeechSpan], samples: Samples, *, window_ms: int) -> list[SpeechSpan]:
    """Split spans that are longer than a window where they are quietest."""
    short: list[SpeechSpan] = []
    for span in spans:
        rest = span
        while rest.duration_ms > window_ms:
            latest_ms = rest.start_ms + window_ms
            cut_ms = quietest_ms(samples, latest_ms - _LOOK_BACK_MS, latest_ms)
            short.append(SpeechSpan(rest.start_ms, cut_ms))
            rest = SpeechSpan(cut_ms, rest.end_ms)
        short.append(rest)
    return short
