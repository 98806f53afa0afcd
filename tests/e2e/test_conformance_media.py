"""Video and sound in films: which source frame is seen when, and what is heard how loud."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from framekiln.kit.errors import CompositionFailed
from tests.e2e.conformance import film, group, length_s, scene
from tests.e2e.conftest import FilmHarness, RenderedFilm
from tests.support.clips import BEEP_HZ, BEEP_S, Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import measure_file
from tests.support.sounds import Samples, beep_times, decode_audio, flash_times, rms

CLIP = f"{MEDIA_ORIGIN}clip.mp4"
SONG = f"{MEDIA_ORIGIN}song.m4a"
SHORT = f"{MEDIA_ORIGIN}short.m4a"
# One sample of the encoder's smear, and one of the resampler's.
BEEP_SLACK_S = 0.001


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    sound = partial(Clip, video_codec=None)
    clips = {
        "clip.mp4": Clip(duration_s=Fraction(10), b_frames=2, width=160, height=90),
        "song.m4a": sound(duration_s=Fraction(5)),
        "short.m4a": sound(),
        "late.wav": sound(audio_codec="pcm_s16le", beep_delay_ms=450),
    }
    makers = {name: partial(make_clip, clip=clip) for name, clip in clips.items()}
    return LocalAssets(tmp_path_factory.mktemp("media"), makers)


def codes(rendered: RenderedFilm) -> list[int | None]:
    return [read_frame_code(picture) for picture in rendered.pictures]


def show(
    harness: FilmHarness, media: LocalAssets, content: str, attributes: str = ""
) -> RenderedFilm:
    html = scene(content, attributes, "width:160px;height:90px")
    return film(harness, html, media, width_px=160, height_px=90)


def heard(rendered: RenderedFilm) -> Samples:
    return decode_audio(rendered.path).mono


def test_case_04_a_window_of_the_source_is_shown_frame_by_frame(
    harness: FilmHarness, media: LocalAssets
) -> None:
    clip = f'<ef-video src="{CLIP}" sourcein="2s" sourceout="6s"></ef-video>'
    rendered = show(harness, media, clip)
    assert length_s(rendered) == 4
    assert codes(rendered) == list(range(60, 180))
    assert flash_times(rendered.path) == [0, 1, 2, 3]
    assert beep_times(rendered.path) == pytest.approx([0, 1, 2, 3], abs=BEEP_SLACK_S)


def test_case_05_trims_cut_both_ends_and_win_over_the_window(
    harness: FilmHarness, media: LocalAssets
) -> None:
    clip = f'<ef-video src="{CLIP}" trimstart="2s" trimend="3s" sourcein="7s"></ef-video>'
    rendered = show(harness, media, clip, 'fps="15"')
    assert length_s(rendered) == 5
    assert codes(rendered) == list(range(60, 210, 2))
    assert beep_times(rendered.path) == pytest.approx([0, 1, 2, 3, 4], abs=BEEP_SLACK_S)


def test_two_windows_of_one_source_follow_each_other(
    harness: FilmHarness, media: LocalAssets
) -> None:
    first = f'<ef-video src="{CLIP}" sourcein="3s" sourceout="4s"></ef-video>'
    second = f'<ef-video src="{CLIP}" sourcein="500ms" sourceout="1500ms"></ef-video>'
    rendered = show(harness, media, first + second, 'mode="sequence"')
    assert codes(rendered) == [*range(90, 120), *range(15, 45)]
    assert beep_times(rendered.path) == pytest.approx([0, 1.5], abs=BEEP_SLACK_S)


def test_a_native_video_is_timed_by_its_scene(harness: FilmHarness, media: LocalAssets) -> None:
    native = f'<video src="{CLIP}" style="width:160px;height:90px"></video>'
    content = group('duration="500ms"') + group('duration="1s"', native)
    rendered = show(harness, media, content, 'mode="sequence"')
    assert codes(rendered) == [*[None] * 15, *range(30)]
    assert beep_times(rendered.path) == pytest.approx([0.5], abs=BEEP_SLACK_S)


def test_case_11_volume_is_a_gain(harness: FilmHarness, media: LocalAssets) -> None:
    loudness = [
        rms(heard(film(harness, scene(f'<ef-audio src="{SHORT}" {volume}></ef-audio>'), media)))
        for volume in ("", 'volume="0.3"', 'volume="1.5"')
    ]
    # A sine of level 0.5, for a tenth of the time.
    assert loudness[0] == pytest.approx(0.5 / 2**0.5 * float(BEEP_S) ** 0.5, rel=0.02)
    assert [each / loudness[0] for each in loudness] == pytest.approx([1, 0.3, 1.5], rel=0.02)


SILENT = {
    "muted elements": f"""<ef-audio src="{SONG}" mute></ef-audio>
    <ef-audio src="{SONG}" muted></ef-audio><ef-video src="{CLIP}" mute></ef-video>
    <ef-audio src="{SONG}" volume="0"></ef-audio>""",
    "none": "",
}


@pytest.mark.parametrize("name", SILENT)
def test_case_12_muted_elements_are_silent(
    harness: FilmHarness, media: LocalAssets, name: str
) -> None:
    rendered = show(harness, media, SILENT[name], 'duration="1500ms" fps="2"')
    found = measure_file(rendered.path).audio
    assert found is not None
    assert found.duration_s == pytest.approx(1.5, abs=0.03)
    assert rms(heard(rendered)) < 1e-5


LENGTHS: dict[str, tuple[str, str, float, list[float]]] = {
    "longer than its scene": (f'<ef-audio src="{SONG}"></ef-audio>', 'duration="2s"', 2, [0, 1]),
    "shorter than its scene": (f'<ef-audio src="{SHORT}"></ef-audio>', 'duration="4s"', 4, [0, 1]),
    "as long as its group": (f'<ef-audio src="{SONG}"></ef-audio>', "", 5, [0, 1, 2, 3, 4]),
    "cut by a duration": (f'<ef-audio src="{SONG}" duration="1500ms"></ef-audio>', "", 1.5, [0, 1]),
    "longer than its later scene": (
        group('duration="500ms"')
        + group('duration="1200ms"', f'<ef-audio src="{SONG}"></ef-audio>'),
        'mode="sequence"',
        1.7,
        [0.5, 1.5],
    ),
    "later in its scene": (
        f'<ef-audio src="{SHORT}" offset="700ms"></ef-audio>',
        'duration="2s"',
        2,
        [0.7, 1.7],
    ),
    "fitted to its scene": (
        f'<ef-audio src="{SONG}" mode="fit"></ef-audio>' + group('duration="2500ms"'),
        'mode="sequence"',
        2.5,
        [0, 1, 2],
    ),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_case_13_sound_lasts_for_the_requested_time(
    harness: FilmHarness, media: LocalAssets, name: str
) -> None:
    content, attributes, seconds, beeps = LENGTHS[name]
    rendered = show(harness, media, content, f'{attributes} fps="10"')
    assert float(length_s(rendered)) == seconds
    sound = decode_audio(rendered.path)
    assert float(sound.start_s) == 0
    assert sound.mono.size / sound.rate_hz == pytest.approx(seconds, abs=0.03)
    assert beep_times(rendered.path) == pytest.approx(beeps, abs=BEEP_SLACK_S)
    after = sound.mono[int((beeps[-1] + float(BEEP_S) + 0.02) * sound.rate_hz) :]
    assert rms(after) < 1e-3


def test_sounds_that_overlap_are_summed(harness: FilmHarness, media: LocalAssets) -> None:
    late = f'<ef-audio src="{MEDIA_ORIGIN}late.wav" volume="0.5"></ef-audio>'
    both = f'<ef-audio src="{SHORT}"></ef-audio>{late}'
    rendered = show(harness, media, both, 'duration="2s" fps="2"')
    assert beep_times(rendered.path) == pytest.approx([0, 0.45, 1, 1.45], abs=BEEP_SLACK_S)
    sound = decode_audio(rendered.path)
    loudness = [
        rms(sound.mono[int((s + 0.02) * sound.rate_hz) :][: int(0.06 * sound.rate_hz)])
        for s in (1, 1.45)
    ]
    assert loudness == pytest.approx([0.5 / 2**0.5, 0.25 / 2**0.5], rel=0.03)


def test_a_mix_that_is_too_loud_is_limited_not_clipped(
    harness: FilmHarness, media: LocalAssets
) -> None:
    voices = f'<ef-audio src="{SHORT}"></ef-audio>' * 5
    rendered = show(harness, media, voices, 'duration="2s" fps="2"')
    sound = decode_audio(rendered.path)
    beep = sound.mono[int(1.02 * sound.rate_hz) : int(1.08 * sound.rate_hz)]
    assert np.abs(sound.samples).max() < 1.03
    assert np.abs(beep).max() > 0.95
    spectrum = np.abs(np.fft.rfft(beep * np.hanning(beep.size)))
    tone, third = (spectrum[round(k * BEEP_HZ * beep.size / sound.rate_hz)] for k in (1, 3))
    # A clipped sine of five halves has a third harmonic of a quarter of its level.
    assert third < 0.01 * tone


GONE = {
    "video": (f'<ef-video src="{MEDIA_ORIGIN}gone.mp4"></ef-video>', "ef-video"),
    "audio": (f'<ef-audio id="music" src="{MEDIA_ORIGIN}gone.mp3"></ef-audio>', "ef-audio#music"),
    "image": (f'<ef-image src="{MEDIA_ORIGIN}gone.png"></ef-image>', "ef-image"),
    "native image": (f'<img id="logo" src="{MEDIA_ORIGIN}gone.png">', "img#logo"),
    "native video": (f'<video src="{MEDIA_ORIGIN}gone.mp4"></video>', "video"),
    "captions": (
        f'<ef-captions captions-src="{MEDIA_ORIGIN}gone.vtt"></ef-captions>',
        "ef-captions",
    ),
}


@pytest.mark.parametrize("name", GONE)
def test_case_30_missing_media_is_named(
    harness: FilmHarness, media: LocalAssets, name: str
) -> None:
    content, element = GONE[name]
    with pytest.raises(CompositionFailed) as failure:
        film(harness, scene(content), media)
    assert failure.value.code == "asset_missing"
    assert failure.value.message.startswith(element)
    assert f"{MEDIA_ORIGIN}gone" in failure.value.message
