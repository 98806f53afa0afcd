"""Times of words made good: out of the pauses, in order, none without length. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from framekiln.speech.model import Word
from framekiln.speech.voice import Span

SHORTEST_WORD_MS: Final = 20

# The voice detector is late by about a frame.
_SOFT_MS: Final = 40


def tidy(
    words: Sequence[Word], voice: Sequence[Span], *, end_ms: int, ahead_ms: int = 0
) -> list[Word]:
    """Return the words one after the other, each where there is a voice, none beyond the end.

    They are `ahead_ms` too early, and moved by that first.
    """
    moved = (_into_voice(_later(word, ahead_ms), voice) for word in words)
    return in_order(list(moved), end_ms=end_ms)


def in_order(words: Sequence[Word], *, end_ms: int) -> list[Word]:
    """Return words that never go back and never overlap."""
    ordered: list[Word] = []
    latest_ms = end_ms - SHORTEST_WORD_MS * len(words)
    earliest_ms = 0
    for word in words:
        latest_ms += SHORTEST_WORD_MS
        start_ms = max(earliest_ms, min(word.start_ms, latest_ms - SHORTEST_WORD_MS))
        stop_ms = max(start_ms + SHORTEST_WORD_MS, min(word.end_ms, latest_ms))
        ordered.append(replace(word, start_ms=start_ms, end_ms=stop_ms))
        earliest_ms = stop_ms
    return ordered


def _later(word: Word, by_ms: int) -> Word:
    return replace(word, start_ms=word.start_ms + by_ms, end_ms=word.end_ms + by_ms)


def _into_voice(word: Word, voice: Sequence[Span]) -> Word:
    """Return the word without the pause before or behind it, which the path counts as part."""
    best: Span | None = None
    first = bisect_left(voice, word.start_ms - _SOFT_MS, key=lambda span: span.end_ms)
    for span in islice(voice, first, None):
        if span.start_ms - _SOFT_MS >= word.end_ms:
            break
        start_ms = max(word.start_ms, span.start_ms - _SOFT_MS)
        end_ms = min(word.end_ms, span.end_ms + _SOFT_MS)
        if end_ms > start_ms and (best is None or end_ms - start_ms > best.duration_ms):
            best = Span(start_ms, end_ms)
    if best is None:
        return word
    return replace(word, start_ms=best.start_ms, end_ms=best.end_ms)
