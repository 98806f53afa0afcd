"""The protocol of speech engines, and the values that they exchange with `Transcriber`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from framekiln.speech.model import Samples, Word
from framekiln.speech.voice_activity import SpeechSpan
from framekiln.speech.windows import SpeechWindow, quietest_ms


@dataclass(frozen=True)
class VoicedSamples:
    """Samples, and the spans of speech in them."""

    samples: Samples
    voice: tuple[SpeechSpan, ...]


@dataclass(frozen=True)
class RecognizedWindow:
    """The segments of a window, with times relative to the audio."""

    language: str
    segments: tuple[tuple[Word, ...], ...]

    @property
    def words(self) -> list[Word]:
        """All words, in order."""
        return [word for segment in self.segments for word in segment]


class RecognitionEngine(Protocol):
    """One loaded engine. The same samples give the same words; safe to use from several threads."""

    @property
    def name(self) -> str:
        """The engine name in transcripts."""

    @property
    def languages(self) -> frozenset[str]:
        """The codes of the supported languages."""

    @property
    def window_ms(self) -> int:
        """The longest span of speech that it recognizes well at once."""

    @property
    def early_ms(self) -> int:
        """How much too early its word times are, measured on independently aligned speech."""

    def detect_language(self, samples: Samples) -> str:
        """Return the most likely language of a window; an engine with one language returns that."""

    def recognize(
        self, sound: VoicedSamples, window: SpeechWindow, language: str | None
    ) -> RecognizedWindow:
        """Return the speech in a window."""


def place_words(words: Sequence[Word], window: SpeechWindow) -> tuple[Word, ...]:
    """Return the words of a window with times relative to the audio."""
    moved = []
    for word in words:
        place = window.to_source(word.start_ms, word.end_ms)
        moved.append(replace(word, start_ms=place.start_ms, end_ms=place.end_ms))
    return tuple(moved)


def voiced_ms(voice: Sequence[SpeechSpan], start_ms: int, end_ms: int) -> int:
    """Return the duration of speech within a span of the audio."""
    return sum(max(0, min(end_ms, span.end_ms) - max(start_ms, span.start_ms)) for span in voice)


def split_window(window: SpeechWindow, samples: Samples) -> tuple[SpeechWindow, SpeechWindow]:
    """Split a window in two where it is quietest, not too close to its ends."""
    quarter_ms = window.duration_ms // 4
    cut_ms = quietest_ms(window.cut(samples), quarter_ms, window.duration_ms - quarter_ms)
    return window.split(cut_ms)
