"""Transcripts: words and segments with times. Values only."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias
from unicodedata import name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_HZ: Final = 16_000

# A string, because most importers of this module do not need numpy.
Samples: TypeAlias = "NDArray[np.float32]"
"""One channel at 16 kHz, -1 to 1."""

# Written without spaces between words.
SPACELESS: Final = frozenset({"zh", "ja", "th", "lo", "my", "yue", "km"})


@dataclass(frozen=True)
class Word:
    """One word with its punctuation; `probability` is what the model gave it, 0 to 1."""

    text: str
    start_ms: int
    end_ms: int
    probability: float

    @property
    def middle_ms(self) -> int:
        """The instant that decides which slice the word belongs to."""
        return (self.start_ms + self.end_ms) // 2


@dataclass(frozen=True)
class TranscriptSegment:
    """Words spoken together; begins with the first word and ends with the last."""

    start_ms: int
    end_ms: int
    text: str
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Transcript:
    """Segments in order of time; `language` is None when there is no speech and none was requested.

    `engine` made it; `warnings` describe the quality if it was a fallback.
    """

    language: str | None
    segments: tuple[TranscriptSegment, ...] = ()
    engine: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[Word, ...]:
        """All words, in order of time."""
        return tuple(word for segment in self.segments for word in segment.words)

    @property
    def text(self) -> str:
        """The whole text, as one line."""
        return join_texts([segment.text for segment in self.segments], self.language)

    def between(self, start_ms: int, end_ms: int) -> "Transcript":
        """Return the words whose middle is within the span, in segments cut accordingly."""
        kept = []
        for segment in self.segments:
            words = [word for word in segment.words if start_ms <= word.middle_ms < end_ms]
            if words:
                kept.append(make_segment(words, self.language))
        return replace(self, segments=tuple(kept))

    def shifted(self, by_ms: int) -> "Transcript":
        """Return the transcript with all times `by_ms` later."""
        return replace(self, segments=tuple(_shift(segment, by_ms) for segment in self.segments))


def make_segment(words: list[Word], language: str | None) -> TranscriptSegment:
    """Return the segment of one or more words."""
    text = join_texts([word.text for word in words], language)
    return TranscriptSegment(words[0].start_ms, words[-1].end_ms, text, tuple(words))


def join_texts(texts: list[str], language: str | None) -> str:
    """Join words or segments as the language is written."""
    if language not in SPACELESS:
        return " ".join(text for text in texts if text)
    joined = ""
    for text in filter(None, texts):
        # Words of other languages keep their spaces inside such text.
        apart = joined and is_latin(joined[-1]) and is_latin(text[0])
        joined += f" {text}" if apart else text
    return joined


def join_slices(slices: list[Transcript]) -> Transcript:
    """Return one transcript of consecutive slices; the language is that of most words.

    Workers may have used different engines: then all are named.
    """
    spoken: dict[str, int] = {}
    for part in slices:
        if part.language is not None:
            spoken[part.language] = spoken.get(part.language, 0) + len(part.words)
    language = max(spoken, key=lambda name: spoken[name]) if spoken else None
    segments = [segment for part in slices for segment in part.segments]
    engines = dict.fromkeys(part.engine for part in slices if part.engine is not None)
    warnings = dict.fromkeys(warning for part in slices for warning in part.warnings)
    return Transcript(
        language,
        tuple(sorted(segments, key=lambda segment: segment.start_ms)),
        engine=", ".join(engines) or None,
        warnings=tuple(warnings),
    )


def is_latin(letter: str) -> bool:
    """Return whether a letter or digit is written with spaces between words."""
    return letter.isalnum() and (letter.isascii() or name(letter, "").startswith("LATIN"))


def _shift(segment: TranscriptSegment, by_ms: int) -> TranscriptSegment:
    return TranscriptSegment(
        start_ms=segment.start_ms + by_ms,
        end_ms=segment.end_ms + by_ms,
        text=segment.text,
        words=tuple(
            replace(word, start_ms=word.start_ms + by_ms, end_ms=word.end_ms + by_ms)
            for word in segment.words
        ),
    )
