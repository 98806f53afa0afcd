"""Sound is cut where the next AAC frame begins, so that it keeps step with slices of pictures."""

from fractions import Fraction
from itertools import pairwise

import pytest

from framekiln.media.segments.film_segments import AAC_FRAME, audio_bounds


@pytest.mark.parametrize("fps", [Fraction(30), Fraction(30000, 1001), Fraction(25, 2)], ids=str)
def test_bounds_are_whole_frames_just_after_the_cuts(fps: Fraction) -> None:
    counts = [120, 120, 120, 7]
    bounds = audio_bounds(counts, fps=fps, rate_hz=48_000)
    assert bounds[0] == 0
    for number, bound in enumerate(bounds):
        cut = Fraction(sum(counts[:number]) * 48_000) / fps
        assert bound % AAC_FRAME == 0
        assert 0 <= bound - cut < AAC_FRAME


def test_a_short_last_segment_may_have_no_audio() -> None:
    # One frame at 120 a second is shorter than an AAC frame, and the one before reaches over it.
    bounds = audio_bounds([480, 1], fps=Fraction(120), rate_hz=48_000)
    assert [end - start for start, end in pairwise(bounds)] == [188 * AAC_FRAME, 0]
