"""Clips are what they say: every frame once, in order, with its flash and its beep."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support.clips import (
    Clip,
    beep_track,
    clip_bytes,
    make_clip,
    make_still,
    write_picture,
)
from tests.support.frame_codes import draw_frame_code, read_frame_code
from tests.support.looks import decode_frames, decode_still, measure_file
from tests.support.sounds import flash_times

SMALL = Clip(width=128, height=96)


@pytest.mark.parametrize(
    "clip",
    [
        SMALL,
        replace(SMALL, fps=Fraction(30000, 1001), b_frames=3),
        replace(SMALL, fps=Fraction(60), keyframe_every=12, b_frames=2),
        replace(SMALL, fps=Fraction(15, 2), duration_s=Fraction(5, 2)),
        replace(SMALL, variable_rate=True, b_frames=2),
    ],
    ids=["30", "ntsc_b", "60_b", "7.5", "variable"],
)
def test_every_frame_comes_once_in_order_and_on_time(tmp_path: Path, clip: Clip) -> None:
    frames = decode_frames(make_clip(tmp_path / "clip.mp4", clip))
    assert [read_frame_code(frame.rgb) for frame in frames] == clip.frame_numbers
    assert [frame.pts for frame in frames] == [n / clip.fps for n in clip.frame_numbers]


def test_flashes_last_one_frame(tmp_path: Path) -> None:
    clip = replace(SMALL, fps=Fraction(24), duration_s=Fraction(3))
    frames = decode_frames(make_clip(tmp_path / "clip.mp4", clip))
    white = [n for n, frame in enumerate(frames) if frame.rgb[4:12, 4:12].mean() > 200]
    assert white == [0, 24, 48]


def test_a_fractional_rate_flashes_on_the_first_frame_of_each_second(tmp_path: Path) -> None:
    clip = replace(SMALL, fps=Fraction(30000, 1001))
    assert flash_times(make_clip(tmp_path / "clip.mp4", clip)) == [0.0, 1.001]


def test_b_frames_are_really_there(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "clip.mp4", replace(SMALL, b_frames=2))
    with av.open(path) as container:
        kinds = {
            av.video.frame.PictureType(frame.pict_type).name
            for frame in container.decode()
            if isinstance(frame, av.VideoFrame)
        }
    assert "B" in kinds


def test_a_variable_rate_leaves_frames_out_but_no_flash() -> None:
    clip = Clip(variable_rate=True, duration_s=Fraction(3))
    numbers = clip.frame_numbers
    assert set(np.diff(numbers).tolist()) >= {1, 2, 3}
    assert clip.flash_numbers <= set(numbers)
    assert numbers[-1] == 89


@pytest.mark.parametrize("degrees", [90, -90, 180])
def test_rotation_is_metadata_only(tmp_path: Path, degrees: int) -> None:
    path = make_clip(tmp_path / "clip.mp4", replace(SMALL, rotation_degrees=degrees))
    video = measure_file(path).video
    assert video
    assert (video.rotation_degrees - degrees) % 360 == 0
    assert (video.width, video.height) == (128, 96)
    assert read_frame_code(decode_frames(path)[5].rgb) == 5


def test_tracks_can_be_left_out(tmp_path: Path) -> None:
    silent = measure_file(make_clip(tmp_path / "silent.mp4", replace(SMALL, audio_codec=None)))
    blind = measure_file(make_clip(tmp_path / "blind.mp4", Clip(video_codec=None)))
    assert silent.video
    assert silent.audio is None
    assert blind.video is None
    assert blind.audio


def test_webm_carries_the_same_frames(tmp_path: Path) -> None:
    clip = replace(SMALL, video_codec="libvpx-vp9", audio_codec="libopus", duration_s=Fraction(1))
    frames = decode_frames(make_clip(tmp_path / "clip.webm", clip))
    assert [read_frame_code(frame.rgb) for frame in frames] == clip.frame_numbers


def test_the_same_clip_is_made_twice_alike(tmp_path: Path) -> None:
    once = make_clip(tmp_path / "once.mp4", SMALL)
    clip_bytes.cache_clear()
    again = make_clip(tmp_path / "again.mp4", SMALL)
    assert once.read_bytes() == again.read_bytes()


def test_an_early_beep_loses_what_lies_before_zero() -> None:
    early = beep_track(Clip(beep_delay_ms=-40, duration_s=Fraction(1)))[0]
    prompt = beep_track(Clip(duration_s=Fraction(1)))[0]
    assert np.flatnonzero(early)[-1] == np.flatnonzero(prompt)[-1] - 40 * 48
    np.testing.assert_array_equal(early[:100], prompt[1920:2020])


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".jpeg", ".webp"])
def test_stills_carry_their_number(tmp_path: Path, suffix: str) -> None:
    path = make_still(tmp_path / f"still{suffix}", 4321)
    (frame,) = decode_frames(path)
    assert read_frame_code(frame.rgb) == 4321
    assert np.abs(frame.rgb.astype(int) - draw_frame_code(4321, 320, 240)).mean() < 2


@pytest.mark.parametrize("suffix", [".png", ".webp"])
def test_transparency_is_kept(tmp_path: Path, suffix: str) -> None:
    pixels = np.zeros((32, 48, 4), np.uint8)
    pixels[:, :24] = (255, 0, 0, 255)
    pixels[:, 24:] = (0, 0, 255, 128)
    np.testing.assert_array_equal(
        decode_still(write_picture(tmp_path / f"a{suffix}", pixels)), pixels
    )
