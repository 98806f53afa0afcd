"""Films of pages whose scripts play sound: what is heard when, how loud, and at which pitch."""

import shutil
import wave
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.sounds import Samples, decode_audio, rms
from tests.support.timeouts import FILM_LIMITS

pytestmark = pytest.mark.spec("4.3")

RATE = 48_000
TONE_HZ = 600
TONE = MEDIA_ORIGIN + "tone.wav"
BUNNY = MEDIA_ORIGIN + "bunny.mp4"
ORIGINAL = Path(__file__).parents[2] / "examples/media/bunny.mp4"


def write_tone(path: Path) -> None:
    """Two seconds of one tone."""
    samples = 0.5 * np.sin(2 * np.pi * TONE_HZ * np.arange(2 * RATE) / RATE)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((samples * 32767).astype("<i2").tobytes())


class Films:
    """Films pages without looking at them: 64x36, 10 frames a second."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        bunny = partial(shutil.copyfile, ORIGINAL)
        self._browser = browser
        self._folder = folder
        self._assets = LocalAssets(folder, {"tone.wav": write_tone, "bunny.mp4": bunny})

    def heard(self, script: str, duration_ms: int = 2000) -> Samples:
        """Return the sound of the film of a page with only that script."""
        order = FilmOrder(
            f"<body></body><script>{script}</script>",
            width_px=64,
            height_px=36,
            fps=Fraction(10),
            duration_ms=duration_ms,
            assets=self._assets,
        )
        path = self._folder / "film.mp4"
        make_film(order, self._browser, path, limits=FILM_LIMITS)
        return decode_audio(path).mono


@pytest.fixture
def films(browser: Browser, tmp_path: Path) -> Films:
    return Films(browser, tmp_path)


def pitch_hz(samples: Samples) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 1 << 18))
    return float(spectrum.argmax() * RATE / (1 << 18))


def between(samples: Samples, start_s: float, end_s: float) -> Samples:
    return samples[round(start_s * RATE) : round(end_s * RATE)]


@pytest.mark.parametrize(("keeps", "hz"), [("true", TONE_HZ), ("false", 2 * TONE_HZ)])
def test_double_rate_halves_the_duration(films: Films, keeps: str, hz: int) -> None:
    play = f'a = new Audio("{TONE}"); a.playbackRate = 2; a.preservesPitch = {keeps}; a.play()'
    sound = films.heard(play)
    assert pitch_hz(between(sound, 0.1, 0.9)) == pytest.approx(hz, abs=4)
    assert rms(between(sound, 0.1, 0.9)) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)
    assert rms(between(sound, 1.05, 2)) < 0.001


def test_half_the_rate_is_an_octave_lower_if_pitch_is_not_kept(films: Films) -> None:
    play = f'a = new Audio("{TONE}"); a.playbackRate = 0.5; a.preservesPitch = false; a.play()'
    assert pitch_hz(between(films.heard(play), 0.1, 1.9)) == pytest.approx(TONE_HZ / 2, abs=2)


def test_a_clip_started_by_a_timer_is_heard_from_then_on(films: Films) -> None:
    sound = films.heard(f'setTimeout(() => new Audio("{TONE}").play(), 1250)')
    assert rms(between(sound, 0, 1.24)) < 0.001
    onset = int(np.flatnonzero(np.abs(sound) > 0.05)[0])
    assert onset == pytest.approx(1.25 * RATE, abs=48)


PLAIN = f'const a = new Audio("{TONE}"); a.play()'
TIMED = f"""document.body.innerHTML =
    '<ef-timegroup duration="2s"><ef-audio src="{TONE}"></ef-audio></ef-timegroup>'
  const a = document.querySelector("ef-audio")"""


@pytest.mark.parametrize("begin", [PLAIN, TIMED], ids=["plain", "timed"])
def test_a_fade_by_a_script_is_smooth(films: Films, begin: str) -> None:
    fade = f"""{begin}
      requestAnimationFrame(function f(now) {{
        a.volume = Math.max(0, 1 - now / 1500)
        requestAnimationFrame(f)
      }})"""
    sound = films.heard(fade)
    for at_s in (0.22, 0.51, 0.97, 1.29):
        level = rms(between(sound, at_s - 0.02, at_s + 0.02)) * np.sqrt(2)
        assert level == pytest.approx(0.5 * (1 - at_s / 1.5), abs=0.01)
    assert rms(between(sound, 1.6, 2)) < 0.001


def test_a_loop_is_heard_to_the_end_of_a_film_that_the_order_makes_longer(films: Films) -> None:
    sound = films.heard(f'a = new Audio("{TONE}"); a.loop = true; a.play()', duration_ms=5000)
    for second in range(5):
        assert rms(between(sound, second, second + 1)) == pytest.approx(0.354, rel=0.05)


def test_a_sought_video_is_heard_from_the_sought_time(films: Films) -> None:
    """Big Buck Bunny from 2 s on, in the middle of the film, as its own sound has it."""
    play = f"""const v = document.createElement("video"); v.src = "{BUNNY}"
      setTimeout(() => {{ v.currentTime = 2; v.play() }}, 500)"""
    sound = films.heard(play)
    original = decode_audio(ORIGINAL)
    first = round((2 - float(original.start_s)) * original.rate_hz)
    assert rms(between(sound, 0, 0.49)) < 0.001
    played = between(sound, 0.6, 1.4)
    assert original.rate_hz == RATE

    def likeness(shift: int) -> float:
        at = first + RATE // 10 + shift
        return float(np.corrcoef(played, original.mono[at : at + len(played)])[0, 1])

    # Its six channels are two in the film, and both sounds were compressed.
    shifts = {shift: likeness(shift) for shift in range(-24, 25)}
    assert shifts[0] > 0.97
    assert max(shifts, key=lambda shift: shifts[shift]) == 0
