"""Silence in spans of sound, block by block."""

from fractions import Fraction

import numpy as np

from framekiln.media.audio.decoder import AudioChunk
from framekiln.media.redaction import EDGE_SAMPLES, SpanMuter


def silent_samples(*spans_ms: tuple[int, int]) -> list[int]:
    """Return which samples of ten seconds are silent, which come in odd blocks."""
    silencing = SpanMuter((Fraction(start), Fraction(end)) for start, end in spans_ms)
    found: list[int] = []
    for first in range(0, 480_000, 1111):
        block = np.ones((2, min(1111, 480_000 - first)), np.float32)
        heard = silencing(AudioChunk(first, block))
        assert heard.first == first
        assert heard.samples.shape == block.shape
        # The decoder's own samples are not touched.
        assert block.all()
        assert (heard.samples[0] == heard.samples[1]).all()
        found += (first + np.flatnonzero(heard.samples[0] == 0)).tolist()
    return found


def test_silence_reaches_beyond_both_ends() -> None:
    assert silent_samples((1000, 1500)) == list(range(48_000 - EDGE_SAMPLES, 72_000 + EDGE_SAMPLES))


def test_spans_may_overlap_and_come_in_any_order() -> None:
    expected = set(range(48_000 - EDGE_SAMPLES, 144_000 + EDGE_SAMPLES))
    expected |= set(range(384_000 - EDGE_SAMPLES, 384_000 + EDGE_SAMPLES))
    found = silent_samples((8000, 8000), (2000, 3000), (1000, 2500), (1100, 1200))
    assert found == sorted(expected)


def test_a_span_at_the_beginning_is_muted() -> None:
    assert silent_samples((0, 100)) == list(range(4800 + EDGE_SAMPLES))


def test_without_spans_the_sound_is_unchanged() -> None:
    assert silent_samples() == []
