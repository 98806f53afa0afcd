"""The limiter leaves quiet sound alone and brings loud sound to full scale without a step."""

import numpy as np
import pytest
from numpy.typing import NDArray

from framekiln.media.audio.limiter import Limiter, smooth_gains

BLOCK = 8192


def limited(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    limiter = Limiter()
    parts: list[NDArray[np.float32]] = []
    for start in range(0, samples.shape[1], BLOCK):
        parts.extend(limiter.push(samples[:, start : start + BLOCK]))
    parts.extend(limiter.finish())
    return np.concatenate(parts, axis=1)


def tone(level: float, count: int = 5 * BLOCK, hz: float = 440) -> NDArray[np.float32]:
    wave = level * np.sin(2 * np.pi * hz * np.arange(count) / 48_000)
    return np.stack([wave, 0.5 * wave]).astype(np.float32)


def test_sound_up_to_full_scale_is_untouched() -> None:
    samples = tone(1.0)
    assert np.array_equal(limited(samples), samples)


def test_nothing_exceeds_full_scale_and_nothing_is_lost() -> None:
    rng = np.random.default_rng(3)
    samples = (rng.standard_normal((2, 5 * BLOCK + 100)) * 0.9).astype(np.float32)
    result = limited(samples)
    assert result.shape == samples.shape
    assert np.abs(result).max() <= 1
    assert (np.sign(result) == np.sign(samples)).all()


@pytest.mark.parametrize("at", [0, 100, BLOCK - 1, BLOCK, 2 * BLOCK + 5, 5 * BLOCK - 1])
def test_a_single_peak_is_limited_at_any_position(at: int) -> None:
    samples = np.full((2, 5 * BLOCK), 0.5, np.float32)
    samples[0, at] = 4
    result = limited(samples)
    assert np.abs(result).max() <= 1
    assert result[0, at] == pytest.approx(1, abs=0.02)
    # Both channels sink together, or the picture of the sound would move.
    assert result[1, at] == pytest.approx(0.125, abs=0.01)
    far = np.abs(np.arange(5 * BLOCK) - at) > 2100
    assert (result[:, far] == 0.5).all()


def test_the_gain_moves_smoothly() -> None:
    levels = np.ones(20_000, np.float32)
    levels[10_000] = 10
    gains = smooth_gains(levels)
    assert gains[10_000] <= 0.1 + 1e-9
    assert np.abs(np.diff(gains)).max() < 0.002


def test_a_loud_low_tone_is_not_distorted() -> None:
    """The gain must not follow single waves: it would turn a sine into a buzz."""
    result = limited(tone(2.0, hz=50))[0][BLOCK : 4 * BLOCK].astype(np.float64)
    spectrum = np.abs(np.fft.rfft(result * np.hanning(len(result))))
    fundamental = round(50 * len(result) / 48_000)
    rest = spectrum.copy()
    rest[fundamental - 9 : fundamental + 10] = 0
    assert rest.max() < 0.0005 * spectrum.max()


def test_the_input_peak_is_returned() -> None:
    limiter = Limiter()
    list(limiter.push(tone(1.7)))
    list(limiter.finish())
    assert limiter.peak == pytest.approx(1.7, abs=0.01)
