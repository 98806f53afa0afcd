"""Sizes, rates and cuts of renditions."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.media.segments.renditions import (
    Outline,
    Rendition,
    RenditionSize,
    main_size,
    max_bits_per_s,
    scaled_bits_per_s,
    segment_bounds,
    smaller_sizes,
    with_short_start,
)


@pytest.mark.parametrize(
    ("source", "main", "lesser"),
    [
        ((1920, 1080), (1920, 1080), ["1280x720", "854x480", "640x360", "320x180"]),
        ((3840, 2160), (1920, 1080), ["1280x720", "854x480", "640x360", "320x180"]),
        # Upright: the short side counts.
        ((1080, 1920), (1080, 1920), ["720x1280", "480x854", "360x640", "320x568"]),
        ((854, 480), (854, 480), ["640x360", "320x180"]),
        ((641, 361), (640, 360), ["320x180"]),
        ((160, 90), (160, 90), ["160x90"]),
        ((1, 1), (2, 2), ["2x2"]),
    ],
)
def test_renditions_are_never_larger_than_their_source(
    source: tuple[int, int], main: tuple[int, int], lesser: list[str]
) -> None:
    found = main_size(*source)
    assert found == RenditionSize(*main)
    sizes = smaller_sizes(*source, found).values()
    assert [f"{size.width_px}x{size.height_px}" for size in sizes] == lesser


def test_smaller_renditions_have_lower_bit_rates() -> None:
    bits = [
        max_bits_per_s(RenditionSize(*size), Fraction(30)) for size in ((1920, 1080), (640, 360))
    ]
    assert bits[0] == 6_000_000
    assert bits[0] / 9 < bits[1] < bits[0] / 4


def test_a_smaller_rendition_has_a_lower_bit_rate_than_its_source() -> None:
    source, smaller = RenditionSize(1280, 720), RenditionSize(640, 360)
    assert 200_000 < scaled_bits_per_s(1_000_000, of=source, size=smaller) < 500_000
    assert scaled_bits_per_s(10, of=source, size=smaller) == 100_000


def test_the_first_segments_are_short_and_a_tail_is_joined() -> None:
    frames = list(range(0, 11_500, 40))
    assert segment_bounds(frames, 11_540, timescale=1000) == (0, 1000, 3000, 7000, 11_540)
    assert segment_bounds(frames, 12_500, timescale=1000) == (0, 1000, 3000, 7000, 11_000, 12_500)
    assert segment_bounds([0], 30_000, timescale=1000) == (0, 30_000)


def test_encoded_renditions_start_with_short_segments() -> None:
    frames = list(range(0, 16_000, 40))
    copied = (0, 5320, 10_640, 16_000)
    encoded = with_short_start(copied, frames, timescale=1000)
    assert encoded == (0, 1000, 3000, 5320, 10_640, 16_000)
    near = (0, 2000, 4000, 8000, 16_000)
    assert with_short_start(near, frames, timescale=1000) == near


@given(st.sets(st.integers(1, 10**6), max_size=300), st.integers(1, 3000))
def test_segments_start_at_frames_without_gaps(later: set[int], timescale: int) -> None:
    frames = [0, *sorted(later)]
    bounds = segment_bounds(frames, frames[-1] + 1, timescale=timescale)
    assert bounds[0] == 0
    assert bounds[-1] == frames[-1] + 1
    assert set(bounds[:-1]) <= set(frames)
    assert all(before < after for before, after in pairwise(bounds))


def test_an_outline_survives_a_json_round_trip() -> None:
    rendition = Rendition(
        id="high",
        is_copy=True,
        codecs="avc1.64001f",
        timescale=24000,
        bounds=(0, 48048),
        init=b"\0\xff",
        peak_bits_per_s=2,
        mean_bits_per_s=1,
        delay=1001,
        size=RenditionSize(2, 4),
        fps=Fraction(24000, 1001),
        grid=(Fraction(-13, 2000), Fraction(1, 50)),
    )
    outline = Outline((rendition,))
    assert Outline.from_json(outline.to_json()) == outline
