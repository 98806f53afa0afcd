"""Mixed sound is where it belongs, as loud as asked, and never clipped."""

from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from framekiln.media.audio.decoder import RATE_HZ, read_audio
from framekiln.media.audio.mix import AudioClip, mix, mixed_blocks
from framekiln.media.audio.source_samples import SourceSamples
from framekiln.media.errors import UnreadableMedia
from tests.support.clips import BEEP_LEVEL, Clip, make_clip
from tests.support.sounds import beep_times, decode_audio, find_beeps, rms

# What a lossy codec smears an onset by.
CODEC_MS = 0.3


def beeps(name: str, codec: str, folder: Path, **wishes: object) -> Path:
    """A sound file with a beep at 0, 1 and 2 seconds."""
    wishes = {"duration_s": Fraction(3), "video_codec": None, "audio_codec": codec, **wishes}
    return make_clip(folder / name, Clip(**wishes))  # type: ignore[arg-type]


def heard(clips: list[AudioClip], duration_ms: int) -> NDArray[np.float32]:
    """The mix before limiting and encoding."""
    return np.concatenate(list(mixed_blocks(clips, duration_ms * RATE_HZ // 1000)), axis=1)


def onsets_ms(samples: NDArray[np.float32]) -> list[float]:
    return [at_s * 1000 for at_s in find_beeps(samples, RATE_HZ)]


def write_wav(path: Path, samples: NDArray[np.float32], layout: str, rate_hz: int = 48_000) -> Path:
    with av.open(path, "w") as container:
        stream = container.add_stream("pcm_f32le", rate=rate_hz, layout=layout)
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(samples.T.reshape(1, -1)), "flt", layout
        )
        frame.sample_rate, frame.pts, frame.time_base = rate_hz, 0, Fraction(1, rate_hz)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


SOURCES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "wav 44.1 kHz": ("a.wav", "pcm_s16le", {"sample_rate_hz": 44_100}),
    "wav mono": ("a.wav", "pcm_s16le", {"channels": 1}),
    "flac": ("a.flac", "flac", {}),
    "mp3": ("a.mp3", "libmp3lame", {"sample_rate_hz": 44_100}),
    "m4a": ("a.m4a", "aac", {}),
    "ogg": ("a.ogg", "libopus", {}),
    "webm": ("a.webm", "libopus", {}),
    "mp4 with picture": ("a.mp4", "aac", {"video_codec": "libx264", "width": 64, "height": 48}),
    "mkv 44.1 kHz": ("a.mkv", "aac", {"sample_rate_hz": 44_100}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_sample_is_heard_at_its_place(tmp_path: Path, name: str) -> None:
    file, codec, wishes = SOURCES[name]
    source = beeps(file, codec, tmp_path, **wishes)
    # Containers that count milliseconds cannot place sound better than that.
    slack_ms = CODEC_MS + (1 if source.suffix in (".mkv", ".webm") else 0)
    for start_ms, source_in_ms, expected_ms in (
        (0, 0, [0, 1000, 2000]),
        (500, 0, [500, 1500, 2500]),
        (100, 1750, [350]),
        (333, 900, [433, 1433]),
    ):
        clip = AudioClip(source, Fraction(start_ms), Fraction(3000), Fraction(source_in_ms))
        found_ms = onsets_ms(heard([clip], 3000)[0])
        assert len(found_ms) == len(expected_ms)
        assert np.abs(np.subtract(found_ms, expected_ms)).max() <= slack_ms


def test_placement_is_exact_to_the_sample(tmp_path: Path) -> None:
    pulse = np.zeros((2, 4800), np.float32)
    pulse[:, 480] = 0.5
    source = write_wav(tmp_path / "pulse.wav", pulse, "stereo")
    clip = AudioClip(source, Fraction(1001, 3), Fraction(1000), Fraction(5))
    samples = heard([clip], 1000)
    assert np.flatnonzero(samples[0]).tolist() == [round(Fraction(1001, 3) * 48) + 480 - 240]
    assert samples.max() == 0.5


def test_a_clip_is_cut_at_its_ends(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "one.wav", np.full((2, 96_000), 0.25, np.float32), "stereo")
    samples = heard([AudioClip(source, Fraction(250), Fraction(1250), Fraction(125))], 2000)
    assert np.flatnonzero(samples[1])[[0, -1]].tolist() == [12_000, 59_999]
    assert (samples[:, 12_000:60_000] == 0.25).all()


def test_a_track_that_starts_late_is_heard_late(tmp_path: Path) -> None:
    source = beeps("a.m4a", "aac", tmp_path)
    late = tmp_path / "late.mp4"
    # The late start is an edit list; by default its unit is a millisecond.
    options = {"movie_timescale": "48000"}
    with av.open(source) as read, av.open(late, "w", options=options) as written:
        stream = written.add_stream_from_template(read.streams.audio[0], opaque=True)
        for packet in read.demux(audio=0):
            if packet.pts is None or packet.dts is None:
                continue
            packet.pts, packet.dts = packet.pts + 24_000, packet.dts + 24_000
            packet.stream = stream
            written.mux(packet)
    found_ms = onsets_ms(heard([AudioClip(late, Fraction(0), Fraction(4000))], 4000)[0])
    assert np.abs(np.subtract(found_ms, [500, 1500, 2500])).max() <= CODEC_MS


def test_a_gap_in_the_source_stays_silent(tmp_path: Path) -> None:
    source, holed = beeps("a.flac", "flac", tmp_path), tmp_path / "holed.mkv"
    with av.open(source) as read, av.open(holed, "w") as written:
        stream = written.add_stream_from_template(read.streams.audio[0], opaque=True)
        for packet in read.demux(audio=0):
            if packet.pts is not None and not 57_600 <= packet.pts < 86_400:
                packet.stream = stream
                written.mux(packet)
    samples = heard([AudioClip(holed, Fraction(0), Fraction(3000))], 3000)[0]
    assert np.abs(np.subtract(onsets_ms(samples), [0, 1000, 2000])).max() <= 1 + CODEC_MS
    assert not samples[60_000:84_000].any()


def test_gain_is_applied_and_silence_is_silent(tmp_path: Path) -> None:
    source = beeps("a.wav", "pcm_s16le", tmp_path)
    out = tmp_path / "mix.m4a"
    mix([AudioClip(source, Fraction(0), Fraction(3000), gain=0.3)], 3000, out)
    sound = decode_audio(out).mono
    loud = rms(sound[RATE_HZ + 480 : RATE_HZ + 4320])
    assert loud == pytest.approx(0.3 * BEEP_LEVEL / sqrt(2), rel=0.02)
    assert rms(sound[RATE_HZ * 3 // 2 : RATE_HZ * 2 - 2048]) < 1e-4
    assert not heard([AudioClip(source, Fraction(0), Fraction(3000), gain=0)], 3000).any()


def test_mono_is_heard_on_both_channels_at_the_same_level(tmp_path: Path) -> None:
    source = write_wav(tmp_path / "mono.wav", np.full((1, 4800), 0.25, np.float32), "mono")
    assert (heard([AudioClip(source, Fraction(0), Fraction(100))], 100) == 0.25).all()


def test_six_channels_are_mixed_to_two(tmp_path: Path) -> None:
    """Front stays, centre and rear come in at -3 dB, the low effects are left out."""
    left, right = [], []
    for channel in range(6):
        samples = np.zeros((6, 4800), np.float32)
        samples[channel] = 0.25
        source = write_wav(tmp_path / f"{channel}.wav", samples, "5.1(side)")
        stereo = heard([AudioClip(source, Fraction(0), Fraction(100))], 100)[:, 2400]
        left.append(float(stereo[0]))
        right.append(float(stereo[1]))
    weak = 0.25 / sqrt(2)
    assert left == pytest.approx([0.25, 0, weak, 0, weak, 0], abs=1e-5)
    assert right == pytest.approx([0, 0.25, weak, 0, 0, weak], abs=1e-5)


def test_clips_add_up(tmp_path: Path) -> None:
    quarter = write_wav(tmp_path / "q.wav", np.full((2, 48_000), 0.25, np.float32), "stereo")
    clips = [AudioClip(quarter, Fraction(100 * n), Fraction(1000)) for n in range(3)]
    samples = heard(clips, 1000)[0]
    assert samples[[0, 4799, 4800, 9599, 9600, 47_999]].tolist() == [
        0.25, 0.25, 0.5, 0.5, 0.75, 0.75,
    ]  # fmt: skip


def test_a_speed_that_changes_all_the_time_is_smooth(tmp_path: Path) -> None:
    """As where a script sets it in each frame; meanwhile the clip gets louder, at once."""
    tone = 0.25 * np.sin(2 * np.pi * 700 * np.arange(2 * RATE_HZ) / RATE_HZ)
    source = write_wav(tmp_path / "tone.wav", tone.astype(np.float32)[None], "mono")
    clips, at_ms = [], Fraction(100)
    for n in range(40):
        speed = Fraction(61 + 2 * n, 100)
        start_ms, gain = 20 * Fraction(n), 0.5 if n < 25 else 1.0
        end_ms = start_ms + 20
        clips.append(AudioClip(source, start_ms, end_ms, at_ms, gain=gain, speed=speed))
        at_ms += 20 * speed
    samples = heard(clips, 800)[0]
    levels = [np.abs(samples[n : n + 96]).max() for n in range(0, len(samples), 96)]
    assert levels[:250] == pytest.approx([0.125] * 250, rel=0.06)
    assert levels[250:] == pytest.approx([0.25] * 150, rel=0.06)
    steepest = max(np.abs(np.diff(part)).max() for part in np.split(samples, [24_000]))
    assert steepest < 1.1 * 0.25 * 2 * np.pi * 700 / RATE_HZ


def test_a_mix_above_full_scale_is_limited_and_reported(tmp_path: Path) -> None:
    source = beeps("a.wav", "pcm_s16le", tmp_path)
    out = tmp_path / "mix.m4a"
    made = mix([AudioClip(source, Fraction(0), Fraction(3000), gain=3)], 3000, out)
    assert made.peak == pytest.approx(1.5, rel=0.01)
    sound = decode_audio(out).mono
    level = rms(sound[RATE_HZ + 960 : RATE_HZ + 3840]) * sqrt(2)
    # FFmpeg's AAC encoder takes 5 % off what nearly clips.
    assert 0.94 < level < 1.01


def test_a_film_without_sound_has_a_silent_track_of_its_length(tmp_path: Path) -> None:
    made = mix([], Fraction(10_010, 3), tmp_path / "silence.m4a")
    assert (made.sample_count, made.peak) == (160_160, 0)
    with av.open(tmp_path / "silence.m4a") as container:
        stream = container.streams.audio[0]
        assert (stream.codec_context.name, stream.profile, stream.rate) == ("aac", "LC", 48_000)
        assert (stream.channels, stream.start_time, stream.duration) == (2, 0, 160_160)
    assert not decode_audio(tmp_path / "silence.m4a").samples.any()


def test_encoding_adds_no_delay(tmp_path: Path) -> None:
    source = beeps("a.flac", "flac", tmp_path)
    mix([AudioClip(source, Fraction(250), Fraction(3000))], 3000, tmp_path / "mix.m4a")
    found_ms = [at_s * 1000 for at_s in beep_times(tmp_path / "mix.m4a")]
    assert np.abs(np.subtract(found_ms, [250, 1250, 2250])).max() <= CODEC_MS


def test_the_same_mix_gives_the_same_bytes(tmp_path: Path) -> None:
    source = beeps("a.mp3", "libmp3lame", tmp_path)
    for name in ("a.m4a", "b.m4a"):
        mix([AudioClip(source, Fraction(0), Fraction(2000))], 2000, tmp_path / name)
    assert (tmp_path / "a.m4a").read_bytes() == (tmp_path / "b.m4a").read_bytes()


def test_a_video_without_audio_is_refused(tmp_path: Path) -> None:
    clip = Clip(audio_codec=None, width=64, height=48, duration_s=Fraction(1, 5))
    path = make_clip(tmp_path / "a.mp4", clip)
    with pytest.raises(UnreadableMedia, match=r"a\.mp4: has no audio track"):
        next(read_audio(path, 0, 100))


@pytest.mark.parametrize("name", ["a.mp3", "a.m4a"])
def test_samples_before_an_instant_are_returned(tmp_path: Path, name: str) -> None:
    codec = "aac" if name == "a.m4a" else "libmp3lame"
    source = beeps(name, codec, tmp_path, duration_s=Fraction(22))
    whole = heard([AudioClip(source, Fraction(0), Fraction(22_000))], 22_000).mean(axis=0)
    with SourceSamples(source) as samples:
        # In order, back, and across the borders of what is kept.
        for ms in (1050, 9990, 10_010, 21_050, 33, 10_050, 20_020):
            end = ms * 48
            expected = np.concatenate([np.zeros(2048, np.float32), whole])[end : end + 2048]
            assert np.abs(samples.before(Fraction(ms), 2048) - expected).max() < 1e-3
        assert not samples.before(Fraction(60_000), 2048).any()
        assert samples.before(Fraction(-5), 16).tolist() == [0.0] * 16
