"""Media time is exact: rates as people write them, frames counted and placed without drift."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.timeline import Timeline, exact_rate, read_fraction

RATES = st.fractions(min_value=1, max_value=120, max_denominator=1001)
BROADCAST = [Fraction(n * 1000, 1001) for n in (24, 30, 48, 60, 120)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (30, Fraction(30)),
        (30.0, Fraction(30)),
        (12.5, Fraction(25, 2)),
        (29.97, Fraction(30000, 1001)),
        (23.976, Fraction(24000, 1001)),
        (23.98, Fraction(24000, 1001)),
        (59.94, Fraction(60000, 1001)),
        (47.952, Fraction(48000, 1001)),
        (119.88, Fraction(120000, 1001)),
        (0.1, Fraction(1, 10)),
        (30000 / 1001, Fraction(30000, 1001)),
        (1 / 3, Fraction(1, 3)),
        (Fraction(7, 5), Fraction(7, 5)),
    ],
)
def test_common_decimal_rates_become_exact_fractions(
    written: float | Fraction, meant: Fraction
) -> None:
    assert exact_rate(written) == meant


@settings(deadline=None)
@given(RATES)
def test_a_rate_survives_conversion_to_a_number(rate: Fraction) -> None:
    """Unless it is how people write another one: 29.97."""
    assert exact_rate(float(rate)) in (rate, *BROADCAST)


@pytest.mark.parametrize(
    ("duration_ms", "fps", "frame_count"),
    [
        (1000, Fraction(30), 30),
        (1001, Fraction(30), 31),
        (1000, Fraction(30000, 1001), 30),
        (1001, Fraction(30000, 1001), 30),
        (1002, Fraction(30000, 1001), 31),
        (1, Fraction(1), 1),
        (0, Fraction(30), 1),
        (Fraction(100, 3), Fraction(30), 1),
    ],
)
def test_a_started_frame_counts_as_a_whole_frame(
    duration_ms: int | Fraction, fps: Fraction, frame_count: int
) -> None:
    assert Timeline.lasting(duration_ms, fps) == Timeline(fps, frame_count)


def test_frames_do_not_drift() -> None:
    timeline = Timeline(Fraction(30000, 1001), 30 * 60 * 60 * 6)
    assert [timeline.frame_us(n) for n in (0, 1, 2, 3)] == [0, 33367, 66733, 100100]
    assert timeline.frame_us(30000 * 21) == 1001 * 21 * 1_000_000


@settings(deadline=None)
@given(RATES, st.integers(1, 10_000_000))
def test_a_film_covers_its_duration_by_less_than_a_frame(rate: Fraction, duration_ms: int) -> None:
    timeline = Timeline.lasting(duration_ms, rate)
    covered_ms = timeline.frame_count * 1000 / rate
    assert duration_ms <= covered_ms < duration_ms + 1000 / rate
    assert abs(timeline.duration_ms - covered_ms) <= Fraction(1, 2)


@settings(deadline=None)
@given(RATES, st.integers(0, 1_000_000))
def test_every_frame_has_a_time_of_its_own(rate: Fraction, number: int) -> None:
    timeline = Timeline(rate, number + 2)
    assert timeline.frame_us(number) < timeline.frame_us(number + 1)
    assert abs(timeline.frame_us(number) - number * 1_000_000 / rate) <= Fraction(1, 2)


@pytest.mark.parametrize("exact", [Fraction(0), Fraction(30000, 1001), Fraction(-7, 2)], ids=str)
def test_a_written_fraction_is_read(exact: Fraction) -> None:
    assert read_fraction(str(exact)) == exact


@pytest.mark.parametrize("text", ["1e999999999", "1/0", "9" * 31, "0.5", "", " 1", 7, None])
def test_other_texts_are_no_fractions(text: object) -> None:
    with pytest.raises(ValueError, match="not a fraction"):
        read_fraction(text)
