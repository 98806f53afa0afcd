"""Silences spans of audio before it is encoded.

AAC encodes overlapping blocks, so a little of the audio before and after would be audible inside a
span. Silence therefore extends beyond both ends, so that each span decodes to exact zeros.
"""

from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from framekiln.media.audio.decoder import AudioChunk, sample_at

SampleSpan = tuple[Fraction, Fraction]
"""Start and end, in milliseconds."""

EDGE_SAMPLES: Final = 2048
"""A sample affects the two frames of 1024 that cover it, and the encoding of their neighbours."""


class SpanMuter:
    """Replaces the audio within all spans with zeros."""

    def __init__(self, spans: Iterable[SampleSpan]) -> None:
        self._spans = _merged(
            (sample_at(start_ms) - EDGE_SAMPLES, sample_at(end_ms) + EDGE_SAMPLES)
            for start_ms, end_ms in spans
        )
        self._ends = [end for _, end in self._spans]

    def __call__(self, chunk: AudioChunk) -> AudioChunk:
        """Return the chunk, or a copy with the muted spans silenced."""
        samples = chunk.samples
        for start, end in self._spans[bisect_right(self._ends, chunk.first) :]:
            if start >= chunk.end:
                break
            if samples is chunk.samples:
                samples = samples.copy()
            samples[:, max(0, start - chunk.first) : end - chunk.first] = 0
        return AudioChunk(chunk.first, samples)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart
