"""The features of sound, against published numbers and a slow transform written out."""

import cmath
import math

import numpy as np
import pytest

from framekiln.speech.whisper import FRAMES, log_mel, mel_filters


def test_filters_have_the_published_numbers() -> None:
    filters = mel_filters(80)
    assert filters.shape == (80, 201)
    # The first entries of the filter bank that Whisper was trained with.
    assert filters[0, 1] == pytest.approx(0.02486259, abs=1e-7)
    assert filters[1, 1] == pytest.approx(0.00199082, abs=1e-7)
    assert filters[0, 0] == 0
    assert not filters[0, 2:].any()


@pytest.mark.parametrize("bands", [80, 128])
def test_no_filter_is_empty(bands: int) -> None:
    assert (mel_filters(bands).sum(axis=1) > 0).all()


def test_silence_is_the_lowest_value_everywhere() -> None:
    features = log_mel(np.zeros(16_000, np.float32), bands=80)
    assert features.shape == (80, FRAMES)
    assert np.allclose(features, -1.5)


def test_one_frame_equals_a_transform_written_out() -> None:
    chance = np.random.default_rng(1)
    samples = chance.normal(0, 0.1, 480_000).astype(np.float32)
    frame = 700
    heard = samples[frame * 160 - 200 : frame * 160 + 200].astype(float)
    windowed = [
        value * (0.5 - 0.5 * math.cos(2 * math.pi * n / 400)) for n, value in enumerate(heard)
    ]
    power = [
        abs(sum(v * cmath.exp(-2j * math.pi * k * n / 400) for n, v in enumerate(windowed))) ** 2
        for k in range(201)
    ]
    loudness = np.log10(mel_filters(80) @ np.array(power))
    features = log_mel(samples, bands=80)
    assert np.allclose(features[:, frame], (loudness + 4) / 4, atol=1e-3)


def test_quiet_parts_are_lifted_to_eight_decades_below_the_loudest() -> None:
    samples = np.zeros(32_000, np.float32)
    samples[:16_000] = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(16_000) / 16_000)
    features = log_mel(samples, bands=80)
    assert features.max() - features.min() == pytest.approx(2, abs=1e-5)
    assert features[:, 50].argmax() == pytest.approx(26, abs=1)
