"""Sound at another speed: as long as it must be, at its pitch, and where it belongs."""

import wave
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from framekiln.media.audio.decoder import AudioChunk
from framekiln.media.audio.speed import read_resampled, read_time_stretched

RATE = 48_000


@pytest.fixture(scope="module")
def beeps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tenth of a second of 1 kHz at each full second, three seconds long."""
    path = tmp_path_factory.mktemp("sound") / "beeps.wav"
    sound = np.zeros(3 * RATE)
    for second in range(3):
        at = np.arange(RATE // 10)
        sound[second * RATE + at] = 0.5 * np.sin(2 * np.pi * 1000 * at / RATE)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((sound * 32767).astype("<i2").tobytes())
    return path


def stretched(path: Path, first: int, count: int, speed: Fraction) -> list[AudioChunk]:
    return list(read_time_stretched(path, first, [(0, 0), (count, round(count * speed))]))


@pytest.mark.parametrize("speed", [Fraction(1, 2), Fraction(3, 4), Fraction(3, 2), Fraction(4)])
def test_beeps_are_at_the_stretched_times_with_the_same_pitch(beeps: Path, speed: Fraction) -> None:
    length = int(3 * RATE / speed)
    parts = stretched(beeps, 0, length, speed)
    firsts = np.cumsum([0, *(part.samples.shape[1] for part in parts)])
    assert [part.first for part in parts] == firsts[:-1].tolist()
    samples = np.concatenate([part.samples for part in parts], axis=1)[0]
    assert abs(len(samples) - length) <= RATE // 20
    for second in (1, 2):
        at = int(second * RATE / speed)
        heard = samples[at - RATE // 5 : at + RATE // 5]
        onset = np.flatnonzero(np.abs(heard) > 0.25)[0] - RATE // 5
        assert abs(onset) < 0.016 * RATE
        middle = samples[at + int(0.03 * RATE / speed) :][: int(0.04 * RATE / speed)]
        spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 1 << 16))
        assert spectrum.argmax() * RATE / (1 << 16) == pytest.approx(1000, abs=60)


@pytest.mark.parametrize("speed", [Fraction(1, 2), Fraction(11, 10), Fraction(4)])
def test_without_keeping_the_pitch_it_changes_with_the_speed(beeps: Path, speed: Fraction) -> None:
    length = int(3 * RATE / speed)
    parts = list(read_resampled(beeps, 0, length, speed=speed))
    assert [part.first for part in parts] == list(range(0, length, parts[0].samples.shape[1]))
    samples = np.concatenate([part.samples for part in parts], axis=1)[0]
    assert len(samples) == length
    at = np.arange(length) * float(speed) / RATE
    beeping = (at % 1 > 0.01) & (at % 1 < 0.09)
    expected = 0.5 * np.sin(2 * np.pi * 1000 * (at % 1))
    assert np.abs(samples - expected)[beeping].max() < 0.005
    assert np.abs(samples[(at % 1 > 0.12) & (at % 1 < 0.98)]).max() < 0.005


@pytest.mark.parametrize("speed", [Fraction(1, 4), Fraction(3)])
def test_a_stretched_part_begins_and_ends_with_its_own_samples(
    beeps: Path, speed: Fraction
) -> None:
    """From within a beep to within the next one, so that what is before and after is audible."""
    first, last = RATE // 50, RATE + RATE // 20
    end = first + int((last - first) / speed)
    samples = np.concatenate(
        [part.samples[0] for part in stretched(beeps, first, end - first, speed)]
    )
    assert len(samples) == end - first
    tone = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(RATE // 10) / RATE)
    assert np.abs(samples[:10] - tone[first:][:10]).max() < 0.02
    assert np.abs(samples[-10:] - tone[: RATE // 20][-10:]).max() < 0.02
    assert np.abs(samples).max() == pytest.approx(0.5, abs=0.01)
    heard = samples[: int(RATE // 20 / speed)]
    levels = [np.abs(heard[at : at + RATE // 1000]).max() for at in range(0, len(heard), 48)]
    assert min(levels) > 0.4


def test_stretching_can_start_at_any_sample(beeps: Path) -> None:
    parts = stretched(beeps, RATE // 2, RATE, Fraction(2))
    assert parts[0].first == RATE // 2
    samples = np.concatenate([part.samples for part in parts], axis=1)[0]
    onset = np.flatnonzero(np.abs(samples) > 0.25)[0]
    assert onset == pytest.approx(RATE // 4, abs=0.016 * RATE)
