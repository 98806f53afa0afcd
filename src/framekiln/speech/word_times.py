"""Corrects word times: inside speech, in order, never of zero length. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from framekiln.speech.model import Word
from framekiln.speech.voice_activity import SpeechSpan

MIN_WORD_MS: Final = 20

# The voice detector is late by about a frame.
_SOFT_MS: Final = 40


def correct_times(
    words: Sequence[Word], voice: Sequence[SpeechSpan], *, end_ms: int, ahead_ms: int = 0
) -> list[Word]:
    """Return the words in sequence, each within speech, none beyond the end.

    They are `ahead_ms` too early and are shifted by that first.
    """
    moved = (_into_voice(_later(word, ahead_ms), voice) for word in words)
    return in_order(list(moved), end_ms=end_ms)


def in_order(words: Sequence[Word], *, end_ms: int) -> list[Word]:
    """Return words with times that never decrease and never overlap."""
    ordered: list[Word] = []
    latest_ms = end_ms - MIN_WORD_MS * len(words)
    earliest_ms = 0
    for word in words:
        latest_ms += MIN_WORD_MS
        start_ms = max(earliest_ms, min(word.start_ms, latest_ms - MIN_WORD_MS))
        stop_ms = max(start_ms + MIN_WORD_MS, min(word.end_ms, latest_ms))
        ordered.append(replace(word, start_ms=start_ms, end_ms=stop_ms))
        earliest_ms = stop_ms
    return ordered


def _later(word: Word, by_ms: int) -> Word:
    return replace(word, start_ms=word.start_ms + by_ms, end_ms=word.end_ms + by_ms)


def _into_voice(word: Word, voice: Sequence[SpeechSpan]) -> Word:
    """Return the word without the pauses around it, which the alignment includes."""
    best: SpeechSpan | None = None
    first = bisect_left(voice, word.start_ms - _SOFT_MS, key=lambda span: span.end_ms)
    for span in islice(voice, first, None):
        if span.start_ms - _SOFT_MS >= word.end_ms:
            break
        start_ms = max(word.start_ms, span.start_ms - _SOFT_MS)
        end_ms = min(word.end_ms, span.end_ms + _SOFT_MS)
        if end_ms > start_ms and (best is None or end_ms - start_ms > best.duration_ms):
            best = SpeechSpan(start_ms, end_ms)
    if best is None:
        return word
    return replace(word, start_ms=best.start_ms, end_ms=best.end_ms)


# Short words take longer than their number of letters suggests.
_PAUSE_LETTERS: Final = 1.5


def spread_words(texts: Sequence[str], voice: Sequence[SpeechSpan]) -> list[SpeechSpan]:
    """Return consecutive spans, one for each word, all within speech."""
    weights = [sum(letter.isalnum() for letter in text) + _PAUSE_LETTERS for text in texts]
    voiced_ms = sum(span.duration_ms for span in voice)
    spans, before = [], 0.0
    for weight in weights:
        start_ms = int(before / sum(weights) * voiced_ms)
        before += weight
        end_ms = int(before / sum(weights) * voiced_ms)
        spans.append(_place(voice, start_ms, end_ms))
    return spans


def _place(voice: Sequence[SpeechSpan], start_ms: int, end_ms: int) -> SpeechSpan:
    """Return the position in the audio of a span of speech; one across a pause ends before it."""
    for span in voice:
        if start_ms < span.duration_ms:
            first_ms = span.start_ms + start_ms
            return SpeechSpan(first_ms, min(span.start_ms + end_ms, span.end_ms))
        start_ms, end_ms = start_ms - span.duration_ms, end_ms - span.duration_ms
    last_ms = voice[-1].end_ms if voice else 0
    return SpeechSpan(last_ms, last_ms)
