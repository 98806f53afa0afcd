"""Elements whose sound scripts take into Web Audio: heard through their node, and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.renderer import PageRenderer, open_page_renderer
from framekiln.media.audio.source_samples import SourceSamples
from tests.e2e.conftest import FilmHarness
from tests.support.clips import BEEP_HZ, Clip, make_clip
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.sounds import Samples, decode_audio, find_beeps, rms
from tests.support.timeouts import FILM_LIMITS

RATE_HZ = 48_000
SONG = f"{MEDIA_ORIGIN}song.wav"
SIZE = {"width_px": 64, "height_px": 36}
# Half as loud, a tenth of a second later.
THROUGH = """
const context = new AudioContext();
const take = (element) => context.createMediaElementSource(element)
  .connect(new GainNode(context, { gain: 0.5 }))
  .connect(new DelayNode(context, { delayTime: 0.1 }))
  .connect(context.destination);
"""


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    song = Clip(video_codec=None, audio_codec="pcm_s16le", duration_s=Fraction(3))
    makers = {"song.wav": partial(make_clip, clip=song)}
    return LocalAssets(tmp_path_factory.mktemp("media"), makers)


@pytest.fixture(scope="module")
def song(media: LocalAssets) -> Samples:
    with SourceSamples(media.fetch(SONG).path) as samples:
        return samples.between(0, 3 * RATE_HZ)


@contextmanager
def filmed(browser: Browser, media: LocalAssets, folder: Path, html: str) -> Iterator[PageRenderer]:
    order = FilmOrder(html, 64, 36, Fraction(25), 2000, assets=media)
    with open_page_renderer(order, browser, FILM_LIMITS) as stage:
        stage.render_slice(FilmSlice(0, 0, 50), folder / "film.mp4", lambda _number: None)
        yield stage


def own_sound(stage: PageRenderer, folder: Path) -> Samples:
    """Return what the page's context made of it, on the film's timeline."""
    (sound,) = stage.save_page_audio(folder)
    decoded = decode_audio(sound.path).samples
    samples = np.zeros((2, 3 * RATE_HZ), np.float32)
    first = round(sound.start_ms * RATE_HZ / 1000)
    samples[:, first : first + decoded.shape[1]] = decoded
    return samples[:, : 2 * RATE_HZ]


def placed(*parts: tuple[int, Samples]) -> Samples:
    samples = np.zeros((2, 2 * RATE_HZ), np.float32)
    for first, part in parts:
        samples[:, first : first + part.shape[1]] += part[:, : 2 * RATE_HZ - first]
    return samples


def test_an_element_sounds_through_its_node_sample_by_sample(
    browser: Browser, media: LocalAssets, song: Samples, tmp_path: Path
) -> None:
    html = f"""<audio id="song" src="{SONG}" autoplay></audio><script>{THROUGH}
      take(song);
      try {{ take(song) }} catch (error) {{ if (error.name !== "InvalidStateError") throw error }}
      </script>"""
    with filmed(browser, media, tmp_path, html) as stage:
        assert stage.audio_clips() == ()
        assert np.array_equal(own_sound(stage, tmp_path), placed((4800, 0.5 * song)))


def test_changes_of_the_element_by_scripts_are_heard(
    browser: Browser, media: LocalAssets, song: Samples, tmp_path: Path
) -> None:
    html = f"""<script>{THROUGH}
      const song = new Audio("{SONG}");
      take(song);
      song.volume = 0.5;
      setTimeout(() => {{ song.currentTime = 1; song.play() }}, 300);
      setTimeout(() => song.pause(), 420);
      setTimeout(() => {{ song.currentTime = 2; song.play() }}, 1000);
      </script>"""
    with filmed(browser, media, tmp_path, html) as stage:
        assert stage.audio_clips() == ()
        quiet = 0.25 * song
        expected = placed(
            (14_400 + 4800, quiet[:, RATE_HZ : RATE_HZ + 5760]),
            (RATE_HZ + 4800, quiet[:, 2 * RATE_HZ :]),
        )
        assert np.array_equal(own_sound(stage, tmp_path), expected)


def test_an_element_routed_late_is_never_heard_twice(
    browser: Browser, media: LocalAssets, song: Samples, tmp_path: Path
) -> None:
    html = f"""<audio id="song" src="{SONG}" autoplay></audio><script>{THROUGH}
      setTimeout(() => take(song), 1040)</script>"""
    with filmed(browser, media, tmp_path, html) as stage:
        (window,) = stage.audio_clips()
        assert (window.start_ms, window.end_ms) == (0, 1040)
        late = placed((49_920 + 4800, 0.5 * song[:, 49_920:]))
        assert np.array_equal(own_sound(stage, tmp_path), late)


def test_elements_in_groups_and_at_other_rates_are_heard(
    harness: FilmHarness, media: LocalAssets
) -> None:
    html = f"""<ef-timegroup mode="fixed" duration="2s" style="width:64px;height:36px">
      <ef-timegroup mode="fixed" duration="1s" offset="700ms">
        <audio id="song" src="{SONG}"></audio></ef-timegroup></ef-timegroup>
      <audio id="fast" src="{SONG}" autoplay></audio><script>{THROUGH}
      take(song);
      fast.playbackRate = 2;
      take(fast);
      </script>"""
    rendered = harness.film(html, **SIZE, fps=Fraction(25), duration_ms=2000, assets=media)
    assert rendered.film.record.warnings == (
        "audio#fast: through Web Audio its pitch follows its playbackRate",
    )
    sound = decode_audio(rendered.path)
    twice = sound.mono[4800:6800]
    spectrum = np.abs(np.fft.rfft(twice * np.hanning(twice.size)))
    assert spectrum.argmax() * RATE_HZ / twice.size == pytest.approx(2 * BEEP_HZ, abs=30)
    assert find_beeps(sound.mono, RATE_HZ) == pytest.approx([0.8], abs=0.002)
    # Three seconds at twice the speed are over after 1.5 s, and a tenth later behind the delay.
    assert rms(sound.mono[76_800:]) < 0.001
