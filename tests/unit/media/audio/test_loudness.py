"""Loudness of ITU-R BS.1770, and peaks between samples: of signals whose answer is known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from framekiln.media.audio.limiter import (
    SAMPLE_PEAK,
    TRUE_PEAK,
    Limiter,
    sample_levels,
    true_peak_levels,
)
from framekiln.media.audio.mastering import (
    CEILING,
    LoudnessMeter,
    Mastering,
    gain_for,
    loudness_lufs,
    master_blocks,
)

RATE = 48_000
BLOCK = 48 * 1024
Samples = NDArray[np.float32]


def sine(level_db: float, seconds: float, hz: float = 997) -> Samples:
    wave = 10 ** (level_db / 20) * np.sin(2 * np.pi * hz * np.arange(round(seconds * RATE)) / RATE)
    return np.stack([wave, wave]).astype(np.float32)


def blocks(samples: Samples, size: int = BLOCK) -> list[Samples]:
    return [samples[:, start : start + size] for start in range(0, samples.shape[1], size)]


def test_a_sine_of_one_kilohertz_is_as_loud_as_its_level() -> None:
    assert loudness_lufs(blocks(sine(-23, 5))) == pytest.approx(-23, abs=0.05)
    one_side = sine(-23, 5)
    one_side[1] = 0
    assert loudness_lufs(blocks(one_side)) == pytest.approx(-26.01, abs=0.05)


def test_passages_far_below_the_rest_are_gated() -> None:
    # The third case of EBU Tech 3341, shortened.
    parts = [sine(-36, 4), sine(-23, 20), sine(-36, 4)]
    assert loudness_lufs(blocks(np.concatenate(parts, axis=1))) == pytest.approx(-23, abs=0.1)
    silent = np.concatenate([sine(-23, 5), np.zeros((2, 10 * RATE), np.float32)], axis=1)
    assert loudness_lufs(blocks(silent)) == pytest.approx(-23, abs=0.15)


def test_low_tones_count_less_and_high_ones_more() -> None:
    low, middle, high = (loudness_lufs(blocks(sine(-20, 3, hz))) for hz in (40, 997, 8000))
    assert low is not None
    assert middle is not None
    assert high is not None
    assert low < middle - 3
    assert high == pytest.approx(middle + 3.3, abs=0.3)


def test_the_size_of_blocks_does_not_change_the_loudness() -> None:
    noise = np.random.default_rng(5).standard_normal((2, 3 * RATE)).astype(np.float32) * 0.1
    whole = loudness_lufs([noise])
    assert loudness_lufs(blocks(noise, 7001)) == pytest.approx(whole, abs=1e-6)


def test_silence_has_no_loudness_and_a_short_sound_has_one() -> None:
    assert LoudnessMeter().integrated_lufs() is None
    assert loudness_lufs([np.zeros((2, RATE), np.float32)]) is None
    assert loudness_lufs([sine(-20, 0.2)]) == pytest.approx(-20, abs=0.6)


def test_a_peak_between_samples_is_measured() -> None:
    # A quarter of the rate, at an eighth of a period: samples reach 0.707 of the wave.
    wave = np.sin(np.pi / 2 * np.arange(4000) + np.pi / 4)
    samples = np.stack([wave, wave]).astype(np.float32)
    assert np.abs(samples).max() == pytest.approx(0.7071, abs=1e-3)
    assert true_peak_levels(samples)[100:-100].max() == pytest.approx(1, abs=0.01)
    assert true_peak_levels(np.zeros((2, 0), np.float32)).shape == (0,)


def test_the_ceiling_holds_between_samples_too() -> None:
    wave = 1.2 * np.sin(np.pi / 2 * np.arange(4 * BLOCK) + np.pi / 4)
    samples = np.stack([wave, wave]).astype(np.float32)
    limiter = Limiter(CEILING, TRUE_PEAK)
    done = np.concatenate(list(master_blocks(iter(blocks(samples)), limiter, 1.0)), axis=1)
    assert done.shape == samples.shape
    assert true_peak_levels(done)[100:-100].max() <= CEILING * 1.005
    # Quieter sound comes through as it was.
    quiet = sine(-6, 2)
    again = np.concatenate(
        list(master_blocks(iter(blocks(quiet)), Limiter(CEILING, TRUE_PEAK), 1.0)), axis=1
    )
    assert np.array_equal(again, quiet)


@pytest.mark.parametrize("seed", range(5))
def test_true_peaks_never_exceed_the_meter(seed: int) -> None:
    samples = np.sign(np.random.default_rng(seed).standard_normal((2, 4000))).astype(np.float32)
    # The worst there is: signs as the weights between two samples have them.
    samples[0, 1000:1024] = np.sign(np.sinc(np.arange(-11, 13) - 0.5))
    assert true_peak_levels(samples).max() <= TRUE_PEAK.overshoot
    assert true_peak_levels(samples).max() > TRUE_PEAK.overshoot * 0.9
    assert sample_levels(samples).max() <= SAMPLE_PEAK.overshoot


@pytest.mark.parametrize("level_db", [-30, -12, -3])
def test_a_mix_is_brought_to_its_loudness(level_db: float) -> None:
    rng = np.random.default_rng(1)
    speech = rng.standard_normal((1, 6 * RATE)) * (rng.random((1, 6))).repeat(RATE, axis=1)
    samples = (np.repeat(speech, 2, axis=0) * 10 ** (level_db / 20) * 0.3).astype(np.float32)
    mastering = Mastering(target_lufs=-16, is_true_peak=True)
    gain = gain_for(lambda: iter(blocks(samples)), mastering)
    done = list(master_blocks(iter(blocks(samples)), mastering.limiter(), gain))
    assert loudness_lufs(done) == pytest.approx(-16, abs=0.2)
    assert true_peak_levels(np.concatenate(done, axis=1)).max() <= CEILING * 1.01


def test_silence_and_hiss_are_not_amplified() -> None:
    mastering = Mastering(target_lufs=-16)
    assert gain_for(lambda: iter([np.zeros((2, RATE), np.float32)]), mastering) == 1
    hiss = sine(-65, 2)
    assert gain_for(lambda: iter([hiss]), mastering) == pytest.approx(10 ** (30 / 20))


def test_without_a_limiter_what_is_too_loud_is_cut_off() -> None:
    mastering = Mastering(has_limiter=False)
    done = np.concatenate(list(master_blocks(iter([sine(6, 1)]), mastering.limiter(), 1.0)), axis=1)
    assert np.abs(done).max() == 1
    assert float((np.abs(done[0]) == 1).mean()) > 0.3
