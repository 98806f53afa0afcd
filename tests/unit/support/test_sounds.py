"""Beeps are found where they are, and nothing else is taken for one."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.support.clips import Clip, beep_track, make_clip
from tests.support.sounds import (
    Samples,
    av_offset_ms,
    beep_times,
    decode_audio,
    find_beeps,
    flash_times,
    rms,
)

RATE_HZ = 48_000
SMALL = Clip(width=128, height=96)


def tone(frequency_hz: int, level: float, length_s: float) -> Samples:
    time_s = np.arange(round(length_s * RATE_HZ)) / RATE_HZ
    return (level * np.sin(2 * np.pi * frequency_hz * time_s)).astype(np.float32)


def placed(*parts: tuple[float, Samples]) -> Samples:
    """Return two seconds of silence with sounds at the given seconds."""
    sound = np.zeros(2 * RATE_HZ, np.float32)
    for at_s, part in parts:
        start = round(at_s * RATE_HZ)
        sound[start : start + len(part)] += part
    return sound


@pytest.mark.parametrize("rate_hz", [16_000, 22_050, 44_100, 48_000])
def test_onsets_at_common_rates(rate_hz: int) -> None:
    clip = Clip(sample_rate_hz=rate_hz, beep_delay_ms=137, duration_s=Fraction(3))
    found = find_beeps(beep_track(clip)[0], rate_hz)
    assert found == pytest.approx([0.137, 1.137, 2.137], abs=0.001)


def test_loud_and_quiet_beeps_are_both_exact() -> None:
    sound = placed((0.25, tone(1000, 0.8, 0.1)), (1.25, tone(1000, 0.25, 0.1)))
    assert find_beeps(sound, RATE_HZ) == pytest.approx([0.25, 1.25], abs=0.001)


@pytest.mark.parametrize("frequency_hz", [300, 440, 700, 1500, 3000])
def test_other_tones_are_not_beeps(frequency_hz: int) -> None:
    assert find_beeps(placed((0.5, tone(frequency_hz, 0.5, 0.2))), RATE_HZ) == []


def test_noise_silence_and_clicks_are_not_beeps() -> None:
    noise = np.random.default_rng(3).normal(0, 0.2, RATE_HZ).astype(np.float32)
    click = np.array([0.9, -0.9, 0.9], np.float32)
    assert find_beeps(noise, RATE_HZ) == []
    assert find_beeps(placed((0.5, click)), RATE_HZ) == []
    assert find_beeps(np.zeros(RATE_HZ, np.float32), RATE_HZ) == []
    assert find_beeps(np.zeros(0, np.float32), RATE_HZ) == []


def test_a_beep_over_quiet_noise_is_found() -> None:
    noise = np.random.default_rng(4).normal(0, 0.02, 2 * RATE_HZ).astype(np.float32)
    found = find_beeps(placed((0.75, tone(1000, 0.5, 0.1))) + noise, RATE_HZ)
    assert found == pytest.approx([0.75], abs=0.002)


def test_rms() -> None:
    assert rms(tone(1000, 0.5, 1)) == pytest.approx(0.5 / np.sqrt(2), rel=1e-4)
    assert rms(np.zeros(0, np.float32)) == 0


def test_a_decoded_clip_has_its_channels_and_beeps(flash_clip: Path) -> None:
    sound = decode_audio(flash_clip)
    assert (sound.samples.shape[0], sound.rate_hz) == (2, 48_000)
    assert sound.start_s == 0
    assert sound.samples.dtype == sound.mono.dtype == np.float32
    assert sound.mono.shape == sound.samples.shape[1:]
    assert beep_times(flash_clip) == pytest.approx([0, 1], abs=0.002)
    assert flash_times(flash_clip) == [0, 1]


def test_sound_and_picture_of_a_clip_agree(flash_clip: Path) -> None:
    assert av_offset_ms(flash_clip) == pytest.approx(0, abs=2)


@pytest.mark.parametrize("delay_ms", [100, 40, -100])
def test_a_shifted_sound_is_measured_as_such(tmp_path: Path, delay_ms: int) -> None:
    path = make_clip(tmp_path / "late.mp4", replace(SMALL, beep_delay_ms=delay_ms))
    assert av_offset_ms(path) == pytest.approx(delay_ms, abs=2)


def test_a_fractional_rate_keeps_sound_and_picture_together(tmp_path: Path) -> None:
    clip = replace(SMALL, fps=Fraction(24000, 1001), b_frames=3, sample_rate_hz=44_100)
    assert av_offset_ms(make_clip(tmp_path / "clip.mp4", clip)) == pytest.approx(0, abs=2)


def test_a_file_without_beeps_has_no_offset(tmp_path: Path) -> None:
    # Shifted past the end, the sound track is silent.
    path = make_clip(tmp_path / "mute.mp4", replace(SMALL, beep_delay_ms=5000))
    with pytest.raises(ValueError, match="no pair in 2 flashes and 0 beeps"):
        av_offset_ms(path)
