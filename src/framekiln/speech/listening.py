"""A window heard until nothing is missing.

The recognizer sometimes passes over a whole sentence, most often where one voice follows another.
The alignment then stretches a word over it. Such a window is heard again in two halves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from framekiln.speech.hearing import hear
from framekiln.speech.model import Samples, Word
from framekiln.speech.packing import Window, quietest_ms
from framekiln.speech.voice import Span
from framekiln.speech.whisper import Whisper

_LONGEST_WORD_MS: Final = 3000
_SHORTEST_WINDOW_MS: Final = 6000


@dataclass(frozen=True)
class Sound:
    """Samples, and where in them somebody speaks."""

    samples: Samples
    voice: tuple[Span, ...]


@dataclass(frozen=True)
class Listened:
    """The segments of a window, with times of the sound."""

    language: str
    segments: tuple[tuple[Word, ...], ...]

    @property
    def words(self) -> list[Word]:
        """All words, in order."""
        return [word for segment in self.segments for word in segment]


def listen(whisper: Whisper, sound: Sound, window: Window, *, language: str | None) -> Listened:
    """Return what is said in a window."""
    heard = hear(whisper, window.cut(sound.samples), language)
    first = Listened(
        heard.language,
        tuple(tuple(_placed(word, window) for word in words) for words in heard.segments),
    )
    if window.duration_ms < _SHORTEST_WINDOW_MS or not _lacks_words(first.words, window, sound):
        return first
    halves = [
        listen(whisper, sound, half, language=heard.language)
        for half in _halves(window, sound.samples)
    ]
    second = Listened(heard.language, tuple(s for half in halves for s in half.segments))
    return second if len(second.words) > len(first.words) else first


def _placed(word: Word, window: Window) -> Word:
    place = window.place(word.start_ms, word.end_ms)
    return replace(word, start_ms=place.start_ms, end_ms=place.end_ms)


def _lacks_words(words: list[Word], window: Window, sound: Sound) -> bool:
    """Tell whether somebody speaks longer than any word lasts without another word."""
    starts_ms = [window.pieces[0].start_ms, *(word.start_ms for word in words[1:])]
    edges_ms = [*starts_ms, window.pieces[-1].end_ms]
    return any(
        voiced_ms(sound.voice, start_ms, end_ms) > _LONGEST_WORD_MS
        for start_ms, end_ms in pairwise(edges_ms)
    )


def voiced_ms(voice: Sequence[Span], start_ms: int, end_ms: int) -> int:
    """Return how long somebody speaks in a stretch of the sound."""
    return sum(max(0, min(end_ms, span.end_ms) - max(start_ms, span.start_ms)) for span in voice)


def _halves(window: Window, samples: Samples) -> tuple[Window, Window]:
    quarter_ms = window.duration_ms // 4
    cut_ms = quietest_ms(window.cut(samples), quarter_ms, window.duration_ms - quarter_ms)
    return window.split(cut_ms)
