"""Corrections of a transcript, and how they are merged into what was recognized. Pure.

A correction replaces all words whose middle is within its span, whatever was recognized there: so
it holds for the next transcription of the same track, too.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from framekiln.speech.model import SPACELESS, Transcript, TranscriptSegment, Word, make_segment
from framekiln.transcripts.errors import CorrectionOverlaps, TooManyCorrections

MAX_TEXT_CHARS: Final = 5000
MAX_CORRECTIONS: Final = 10_000
"""Of one track: all are read with each transcript."""

# A word of Latin letters, or one other letter, each with the punctuation after it.
_SPACELESS_WORD: Final = re.compile(
    r"[0-9A-Za-z\u00c0-\u024f]+[^\w\s]*|\w[^\w\s]*|[^\w\s]+", re.UNICODE
)


@dataclass(frozen=True)
class TranscriptCorrection:
    """What people read in a span instead of what was recognized; empty if nothing is said."""

    start_ms: int
    end_ms: int
    original_text: str
    text: str
    updated_at: datetime


def check_correction(new: TranscriptCorrection, known: Sequence[TranscriptCorrection]) -> None:
    """Raise if a correction cuts another one, or if there are too many."""
    apart = [each for each in known if each.end_ms <= new.start_ms or new.end_ms <= each.start_ms]
    within = [each for each in known if new.start_ms <= each.start_ms and each.end_ms <= new.end_ms]
    if len(apart) + len(within) < len(known):
        cut = next(each for each in known if each not in apart and each not in within)
        raise CorrectionOverlaps(
            f"{new.start_ms} to {new.end_ms} ms contains a part of the correction from"
            f" {cut.start_ms} to {cut.end_ms} ms: use a span that contains all of it, or delete it",
            start_ms=cut.start_ms,
            end_ms=cut.end_ms,
        )
    if len(apart) >= MAX_CORRECTIONS:
        raise TooManyCorrections(
            f"the track has {MAX_CORRECTIONS} corrections already: delete some, or correct longer"
            " spans at once"
        )


def merge_corrections(
    transcript: Transcript, corrections: Sequence[TranscriptCorrection]
) -> Transcript:
    """Return the corrected transcript; corrections are in order of time and do not overlap."""
    if not corrections:
        return transcript
    merge = _Merge(corrections, transcript.language)
    for word in transcript.words:
        if (number := merge.find(word)) is not None:
            merge.replaced.setdefault(number, []).append(word)
    for segment in transcript.segments:
        merge.add_segment(segment)
    for number in range(len(corrections)):
        if number not in merge.replaced:
            merge.add_alone(number)
    return replace(transcript, segments=tuple(sorted(merge.segments, key=_start)))


class _Merge:
    """The state of one merge."""

    def __init__(self, corrections: Sequence[TranscriptCorrection], language: str | None) -> None:
        self._corrections = corrections
        self._starts = [each.start_ms for each in corrections]
        self._language = language
        self._placed: set[int] = set()
        self.replaced: dict[int, list[Word]] = {}
        self.segments: list[TranscriptSegment] = []

    def find(self, word: Word) -> int | None:
        """Return the number of the correction that replaces a word."""
        number = bisect_right(self._starts, word.middle_ms) - 1
        is_in = number >= 0 and word.middle_ms < self._corrections[number].end_ms
        return number if is_in else None

    def add_segment(self, segment: TranscriptSegment) -> None:
        """Add a segment; one that shares a correction with the segment before is joined to it."""
        numbers = [self.find(word) for word in segment.words]
        if all(number is None for number in numbers):
            self.segments.append(segment)
            return
        is_continued = numbers[0] in self._placed
        words: list[Word] = []
        for word, number in zip(segment.words, numbers, strict=True):
            if number is None:
                words.append(word)
            elif number not in self._placed:
                self._placed.add(number)
                words += self._words(number)
        if is_continued and words and self.segments:
            words = [*self.segments.pop().words, *words]
        if words:
            self.segments.append(make_segment(words, self._language))

    def add_alone(self, number: int) -> None:
        """Add the words of a correction where nothing was recognized."""
        words = self._words(number)
        if not words:
            return
        middle_ms = (words[0].start_ms + words[-1].end_ms) // 2
        for place, segment in enumerate(self.segments):
            if segment.start_ms <= middle_ms < segment.end_ms:
                whole = sorted([*segment.words, *words], key=lambda word: word.start_ms)
                self.segments[place] = make_segment(whole, self._language)
                return
        self.segments.append(make_segment(words, self._language))

    def _words(self, number: int) -> list[Word]:
        correction, replaced = self._corrections[number], self.replaced.get(number, [])
        texts = split_words(correction.text, self._language)
        if len(texts) == len(replaced):
            pairs = zip(replaced, texts, strict=True)
            return [replace(word, text=text, probability=1.0) for word, text in pairs]
        start_ms = replaced[0].start_ms if replaced else correction.start_ms
        end_ms = replaced[-1].end_ms if replaced else correction.end_ms
        return _spread(texts, start_ms, max(end_ms, start_ms + 1))


def split_words(text: str, language: str | None) -> list[str]:
    """Return the words of a text, as the language is written."""
    return _SPACELESS_WORD.findall(text) if language in SPACELESS else text.split()


def _spread(texts: list[str], start_ms: int, end_ms: int) -> list[Word]:
    """Give each word a part of the time in proportion to its letters."""
    total = sum(len(text) for text in texts)
    words, before = [], 0
    for text in texts:
        after = before + len(text)
        first, last = (start_ms + (end_ms - start_ms) * n // total for n in (before, after))
        words.append(Word(text, first, last, 1.0))
        before = after
    return words


def _start(segment: TranscriptSegment) -> int:
    return segment.start_ms
