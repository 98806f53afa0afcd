"""Times for words of which only the order is known: by their lengths, where somebody speaks. Pure.

A guess, off by a fifth of a second at the median; used where nothing better can be had.
"""

from collections.abc import Sequence
from typing import Final

from framekiln.speech.voice import Span

# Short words take longer than their letters say.
_PAUSE_LETTERS: Final = 1.5


def spread(texts: Sequence[str], voice: Sequence[Span]) -> list[Span]:
    """Return a stretch for each word, one after the other, all of them inside the voice."""
    weights = [sum(letter.isalnum() for letter in text) + _PAUSE_LETTERS for text in texts]
    voiced_ms = sum(span.duration_ms for span in voice)
    stretches, before = [], 0.0
    for weight in weights:
        start_ms = int(before / sum(weights) * voiced_ms)
        before += weight
        end_ms = int(before / sum(weights) * voiced_ms)
        stretches.append(_place(voice, start_ms, end_ms))
    return stretches


def _place(voice: Sequence[Span], start_ms: int, end_ms: int) -> Span:
    """Return where a stretch of the voice lies in the sound; what spans a pause ends before it."""
    for span in voice:
        if start_ms < span.duration_ms:
            first_ms = span.start_ms + start_ms
            return Span(first_ms, min(span.start_ms + end_ms, span.end_ms))
        start_ms, end_ms = start_ms - span.duration_ms, end_ms - span.duration_ms
    last_ms = voice[-1].end_ms if voice else 0
    return Span(last_ms, last_ms)
