"""The sound of films of layers, listened to by somebody else: FFmpeg's own meter."""

import re
import subprocess
import wave
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from tests.support.layer_films import config_of, film_of
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.sounds import decode_audio, rms

RATE = 48_000
QUIET, LOUD, TONE, LONG = (
    MEDIA_ORIGIN + name for name in ("quiet.wav", "loud.wav", "tone.wav", "long.wav")
)


def write(path: Path, samples: np.ndarray) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def noise(path: Path, level: float) -> None:
    steps = np.repeat([1.0, 0.3, 0.8, 0.2, 0.9, 0.5], RATE // 2)
    hiss = np.random.default_rng(2).standard_normal(len(steps) + 15)
    # Without the highest tones, which AAC leaves out.
    write(path, np.convolve(hiss, np.full(16, 0.25), "valid") * steps * level)


def tone(path: Path, seconds: float = 4) -> None:
    write(path, 0.25 * np.sin(2 * np.pi * 440 * np.arange(round(seconds * RATE)) / RATE))


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return LocalAssets(
        tmp_path_factory.mktemp("media"),
        {
            "quiet.wav": partial(noise, level=0.01),
            "loud.wav": partial(noise, level=0.3),
            "tone.wav": tone,
            "long.wav": partial(tone, seconds=8),
        },
    )


def sound(file: str, **more: Any) -> dict[str, Any]:
    return {"type": "audio", "file": file, **more}


def measured(path: Path) -> tuple[float, float]:
    """Integrated loudness in LUFS and the true peak in dBFS, as FFmpeg finds them."""
    command = ["ffmpeg", "-hide_banner", "-nostats", "-i", str(path)]
    command += ["-af", "ebur128=peak=true", "-f", "null", "-"]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    summary = log[log.rindex("Summary:") :]
    loudness = re.search(r"I:\s+(-?[\d.]+) LUFS", summary)
    peak = re.search(r"Peak:\s+(-?[\d.]+|-inf) dBFS", summary)
    assert loudness is not None
    assert peak is not None
    return float(loudness[1]), float(peak[1])


def made(browser: Browser, assets: LocalAssets, path: Path, *layers: Any, **top: Any) -> Path:
    small = {"dimensions": {"width": 32, "height": 32}, "duration": 3, "fps": 5}
    return film_of(config_of(*layers, **{**small, **top}), browser, assets, path)


@pytest.mark.parametrize(
    ("file", "target"), [(QUIET, None), (LOUD, None), (LOUD, -23)], ids=["quiet", "loud", "-23"]
)
def test_a_film_has_the_requested_loudness(
    browser: Browser, assets: LocalAssets, tmp_path: Path, file: str, target: float | None
) -> None:
    audio = {"normalize": True, "target": target}
    path = made(browser, assets, tmp_path / "a.mp4", sound(file), audio=audio)
    loudness, peak = measured(path)
    assert loudness == pytest.approx(-16 if target is None else target, abs=0.4)
    # The ceiling is one decibel below full scale; AAC may take a part of that.
    assert peak < 0


def test_without_a_setting_the_loudness_is_unchanged(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    plain, _ = measured(made(browser, assets, tmp_path / "a.mp4", sound(QUIET)))
    assert plain < -38


def test_a_loud_mix_is_limited_unless_the_limiter_is_off(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    layers = [sound(TONE) for _ in range(6)]
    limited = decode_audio(made(browser, assets, tmp_path / "a.mp4", *layers)).mono
    assert np.abs(limited[RATE:-RATE]).max() == pytest.approx(10 ** (-1 / 20), abs=0.05)
    cut = made(browser, assets, tmp_path / "b.mp4", *layers, audio={"limiter": False})
    flattened = decode_audio(cut).mono[RATE:-RATE]
    assert harmonics(flattened) > 20 * harmonics(limited[RATE:-RATE])


def harmonics(samples: np.ndarray) -> float:
    """How much of a tone of 440 Hz is at three times that."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    third = round(1320 * len(samples) / RATE)
    return float(spectrum[third - 3 : third + 4].max() / spectrum.max())


@pytest.mark.parametrize("speed", [0.5, 2])
def test_speed_keeps_the_pitch(
    browser: Browser, assets: LocalAssets, tmp_path: Path, speed: float
) -> None:
    path = made(browser, assets, tmp_path / "a.mp4", sound(LONG, speed=speed))
    heard = decode_audio(path).mono[RATE // 2 : 2 * RATE]
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard))))
    assert spectrum.argmax() * RATE / len(heard) == pytest.approx(440, abs=3)
    assert rms(heard) == pytest.approx(0.25 / np.sqrt(2), rel=0.05)


def test_music_is_ducked_under_a_voice(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    music = sound(LONG, audio={"volume": 1, "duck": {"under": ["voice"], "amount": 0.75}})
    voice = sound(TONE, id="voice", audio={"volume": 0}, timeline={"start": 1}, trim={"end": 1})
    heard = decode_audio(made(browser, assets, tmp_path / "a.mp4", music, voice)).mono
    before, under, after = (
        rms(heard[round(at * RATE) : round((at + 0.4) * RATE)]) for at in (0.2, 1.3, 2.4)
    )
    assert under == pytest.approx(before / 4, rel=0.05)
    assert after == pytest.approx(before, rel=0.05)
