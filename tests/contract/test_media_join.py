"""Slices joined without re-encoding are the film that one piece would have been."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import median

import av
import numpy as np
import pytest
from av.audio.frame import AudioFrame

from framekiln.kit.confined.run import run_in_sandbox
from framekiln.kit.confined.sandbox import Isolation, Sandbox, strongest_sandbox
from framekiln.media.audio.mix import AudioClip, mix
from framekiln.media.audio.mix_settings import AudioSettings
from framekiln.media.encode.film_encoder import FilmEncoder, VideoSettings
from framekiln.media.errors import FramesMissing, SlicesDiffer
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.media.remux.assemble import assemble
from framekiln.media.remux.confined_join import join_order
from framekiln.media.remux.join import join_mp4
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import draw_frame_code, read_frame_code
from tests.support.looks import decode_frames, measure_file
from tests.support.sounds import av_offset_ms, find_beeps, flash_times

WIDTH, HEIGHT = 64, 48
NTSC = Fraction(30000, 1001)


def film(path: Path, numbers: Sequence[int], fps: Fraction, *, crf: int = 18) -> Path:
    """Encode frame codes; the first of each second is a flash."""
    with FilmEncoder(path, VideoSettings(WIDTH, HEIGHT, fps, crf=crf)) as encoder:
        for n in numbers:
            pixels = encoder.buffer()
            flash = n % round(fps) == 0
            pixels[..., :3] = draw_frame_code(n, WIDTH, HEIGHT, flash=flash)[..., ::-1]
            pixels[..., 3] = 255
            encoder.write(pixels)
    return path


def sliced(folder: Path, cuts: Sequence[int], fps: Fraction) -> list[Path]:
    return [film(folder / f"{start}.mp4", range(start, end), fps) for start, end in pairwise(cuts)]


def silence(folder: Path, frame_count: int, fps: Fraction) -> Path:
    mix([], frame_count * 1000 / fps, folder / "silence.m4a")
    return folder / "silence.m4a"


@pytest.mark.parametrize(
    "fps", [Fraction(30), NTSC, Fraction(24000, 1001), Fraction(25, 2), Fraction(60)], ids=str
)
def test_every_frame_appears_once_in_order_at_its_exact_time(tmp_path: Path, fps: Fraction) -> None:
    # Slices shorter than the encoder's look-ahead and reordering are the hard ones.
    slices = sliced(tmp_path, [0, 50, 51, 53, 113, 120], fps)
    out = tmp_path / "film.mp4"
    made = join_mp4(slices, silence(tmp_path, 120, fps), out)
    assert (made.frame_count, made.fps) == (120, fps)
    frames = decode_frames(out)
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(120))
    assert [frame.pts for frame in frames] == [n / fps for n in range(120)]


@pytest.mark.parametrize("has_namespaces", [True, False])
async def test_a_confined_child_writes_the_same_bytes(
    tmp_path: Path, *, has_namespaces: bool
) -> None:
    sandbox = strongest_sandbox() if has_namespaces else Sandbox(Isolation.NONE, "Landlock alone")
    sources, work = tmp_path / "sources", tmp_path / "work"
    sources.mkdir()
    work.mkdir()
    slices = sliced(sources, [0, 40, 41, 75], NTSC)
    sound = silence(sources, 75, NTSC)
    blob = tmp_path / "blob"
    blob.hardlink_to(slices[0])
    here, confined = tmp_path / "here", work / "film"
    assemble(slices, sound, here, container="mp4", fps=NTSC, frame_count=75)
    order = join_order(slices, sound, confined, container="mp4", fps=NTSC, frame_count=75)
    await run_in_sandbox(sandbox, order)
    assert confined.read_bytes() == here.read_bytes()
    # Where children can reach the modes of their sources, they get copies.
    assert blob.samefile(slices[0]) is (sandbox.isolation is not Isolation.NONE)


def test_the_file_has_the_properties_that_players_expect(tmp_path: Path) -> None:
    out = tmp_path / "film.mp4"
    join_mp4(sliced(tmp_path, [0, 40, 75], NTSC), silence(tmp_path, 75, NTSC), out)
    facts = measure_file(out)
    assert facts.is_faststart
    video, audio = facts.video, facts.audio
    assert video is not None
    assert audio is not None
    assert (video.codec, video.profile, video.pix_fmt) == ("h264", "High", "yuv420p")
    assert (video.primaries, video.transfer, video.matrix) == ("bt709", "bt709", "bt709")
    assert video.colour_range == "limited"
    assert video.is_constant_rate
    assert (video.start_s, video.duration_s) == (0, 75 / NTSC)
    assert (audio.codec, audio.profile, audio.rate_hz, audio.channels) == ("aac", "LC", 48_000, 2)
    assert abs(audio.duration_s - 75 / NTSC) < Fraction(1, 48_000)


def test_pictures_and_sound_are_interleaved(tmp_path: Path) -> None:
    out = tmp_path / "film.mp4"
    join_mp4(sliced(tmp_path, [0, 45, 90], Fraction(30)), silence(tmp_path, 90, Fraction(30)), out)
    last_s = {"video": Fraction(0), "audio": Fraction(0)}
    with av.open(out) as container:
        positions = []
        for packet in container.demux():
            if packet.dts is None:
                continue
            assert packet.pos is not None
            positions.append(packet.pos)
            last_s[packet.stream.type] = packet.dts * packet.time_base
            assert abs(last_s["video"] - last_s["audio"]) < Fraction(1, 5)
    assert positions == sorted(positions)


def test_joined_slices_equal_a_film_encoded_at_once(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.mp4", tmp_path / "cut.mp4"
    join_mp4([film(tmp_path / "one.mp4", range(100), NTSC)], None, whole)
    join_mp4(sliced(tmp_path, [0, 30, 100], NTSC), None, cut)
    one, many = decode_frames(whole), decode_frames(cut)
    assert [frame.pts for frame in one] == [frame.pts for frame in many]
    for a, b in zip(one, many, strict=True):
        assert np.abs(a.rgb.astype(int) - b.rgb).mean() < 4
    assert measure_file(whole).audio is None


def test_joining_changes_no_picture(tmp_path: Path) -> None:
    slices = sliced(tmp_path, [0, 30, 70], Fraction(25))
    join_mp4(slices, None, tmp_path / "film.mp4")
    before = [frame.rgb for path in slices for frame in decode_frames(path)]
    after = [frame.rgb for frame in decode_frames(tmp_path / "film.mp4")]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_the_same_slices_give_the_same_bytes(tmp_path: Path) -> None:
    slices, sound = sliced(tmp_path, [0, 20, 50], NTSC), silence(tmp_path, 50, NTSC)
    for name in ("a.mp4", "b.mp4"):
        join_mp4(slices, sound, tmp_path / name)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_slices_of_other_settings_are_refused(tmp_path: Path) -> None:
    first = film(tmp_path / "a.mp4", range(5), Fraction(25))
    other = tmp_path / "b.mp4"
    with FilmEncoder(other, VideoSettings(WIDTH * 2, HEIGHT, Fraction(25))) as encoder:
        encoder.write(encoder.buffer())
    with pytest.raises(SlicesDiffer, match=r"b\.mp4 was encoded with other settings than a\.mp4"):
        join_mp4([first, other], None, tmp_path / "film.mp4")


@pytest.mark.parametrize("container", ["mp4", "webm", "mov"])
def test_a_film_with_other_frames_than_planned_is_refused(tmp_path: Path, container: str) -> None:
    fps, sound, slices = Fraction(25), tmp_path / "sound.mp4", []
    kind = FILM_CONTAINERS[container]
    mix([], 400, sound, settings=AudioSettings(coding=kind.audio))
    for number in range(2):
        slices.append(tmp_path / f"{number}.mp4")
        settings = VideoSettings(WIDTH, HEIGHT, fps, coding=kind.video)
        with FilmEncoder(slices[-1], settings) as encoder:
            for _ in range(5):
                pixels = encoder.buffer()
                pixels[...] = 255
                encoder.write(pixels)
    out = tmp_path / f"film.{container}"
    assemble(slices, sound, out, container=container, fps=fps, frame_count=10)
    with pytest.raises(FramesMissing, match="10 frames instead of 11") as error:
        assemble(slices, sound, out, container=container, fps=fps, frame_count=11)
    assert error.value.retryable


def test_sound_stays_in_sync_over_many_slices(tmp_path: Path) -> None:
    """75 slices of 40 frames at 29.97 fps, a beep at the start of each.

    If each were one audio sample too long, the last beep would be 1.5 ms late.
    """
    count, frames = 75, 40
    slice_ms = frames * 1000 / NTSC
    piece = film(tmp_path / "slice.mp4", range(frames), NTSC)
    beep = Clip(video_codec=None, audio_codec="pcm_s16le", duration_s=Fraction(1, 5))
    source = make_clip(tmp_path / "beep.wav", beep)
    clips = [AudioClip(source, n * slice_ms, (n + 1) * slice_ms) for n in range(count)]
    mix(clips, count * slice_ms, tmp_path / "sound.m4a")
    out = tmp_path / "film.mp4"
    join_mp4([piece] * count, tmp_path / "sound.m4a", out)
    with av.open(out) as container:
        pts = sorted(p.pts for p in container.demux(video=0) if p.pts is not None)
    assert pts == [n * 1001 for n in range(count * frames)]
    for first in (0, count - 5):
        flashes_s = [float((first + n) * slice_ms / 1000) for n in range(5)]
        heard_s = beeps_between(out, flashes_s[0] - 0.5, flashes_s[-1] + 0.5)
        assert heard_s == pytest.approx(flashes_s, abs=0.001)


def seconds(frame: AudioFrame) -> float:
    assert frame.time is not None
    return frame.time


def beeps_between(path: Path, start_s: float, end_s: float) -> list[float]:
    """Decode a part only: to decode everything takes longer than to make it."""
    with av.open(path) as container:
        stream = container.streams.audio[0]
        if start_s > 1:
            container.seek(int((start_s - 1) * stream.rate), stream=stream)
        decoded = takewhile(lambda frame: seconds(frame) < end_s, container.decode(stream))
        frames = [frame for frame in decoded if seconds(frame) >= start_s]
    samples = np.concatenate([frame.to_ndarray()[0] for frame in frames])
    return [seconds(frames[0]) + at_s for at_s in find_beeps(samples, stream.rate)]


@pytest.mark.parametrize("fps", [Fraction(24), NTSC, Fraction(60)], ids=str)
def test_a_source_in_a_film_is_in_sync(tmp_path: Path, fps: Fraction) -> None:
    """Flash and beep come from one film's clock, through all of encoding, mixing and joining."""
    count = round(fps) * 3
    beep = Clip(video_codec=None, audio_codec="aac", duration_s=Fraction(1, 5))
    source = make_clip(tmp_path / "beep.m4a", beep)
    starts_ms = [n * 1000 / fps for n in range(0, count, round(fps))]
    mix(
        [AudioClip(source, start, start + 200) for start in starts_ms],
        count * 1000 / fps,
        tmp_path / "sound.m4a",
    )
    out = tmp_path / "film.mp4"
    join_mp4(sliced(tmp_path, [0, 17, count], fps), tmp_path / "sound.m4a", out)
    assert abs(av_offset_ms(out)) < 1
    assert median(flash_times(out)) == pytest.approx(float(starts_ms[1] / 1000), abs=1e-6)
