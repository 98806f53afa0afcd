"""Every output frame shows the source frame that is on screen then, whatever the source is like."""

from fractions import Fraction
from functools import partial
from math import floor
from pathlib import Path

import av
import numpy as np
import pytest

from tests.e2e.conformance import SIZE_FROM_PAGE, film, length_s, scene
from tests.e2e.conftest import FilmHarness
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets, Maker
from tests.support.sounds import beep_times, flash_times

FILM_FPS = 30
# A source frame that is due within half a millisecond is meant: source times are often rounded.
GRACE_S = Fraction(1, 2000)
small = partial(Clip, width=128, height=72, audio_codec=None)
CLIPS = {
    "23.976": small(fps=Fraction(24000, 1001)),
    "25": small(fps=Fraction(25)),
    "29.97": small(fps=Fraction(30000, 1001)),
    "50": small(fps=Fraction(50)),
    "60": small(fps=Fraction(60)),
    "variable": small(variable_rate=True),
    "b-frames": small(fps=Fraction(25), b_frames=3, keyframe_every=12),
}


def on_screen(clip: Clip, at_s: Fraction) -> int:
    """The last frame whose time has come."""
    due = floor((at_s + GRACE_S) * clip.fps)
    return max(n for n in clip.frame_numbers if n <= due)


def sized(element: str, width: int, height: int, attributes: str = "") -> str:
    return scene(element, attributes, f"width:{width}px;height:{height}px")


def codes_of(harness: FilmHarness, folder: Path, make: Maker, video: str = "") -> list[int | None]:
    assets = LocalAssets(folder, {"source.mp4": make})
    element = f'<ef-video src="{MEDIA_ORIGIN}source.mp4" {video}></ef-video>'
    rendered = film(harness, sized(element, 128, 72), assets, width_px=128, height_px=72)
    return [read_frame_code(picture) for picture in rendered.pictures]


@pytest.mark.parametrize("name", CLIPS)
def test_every_frame_shows_the_right_source_frame(
    harness: FilmHarness, tmp_path: Path, name: str
) -> None:
    clip = CLIPS[name]
    shown = codes_of(harness, tmp_path, partial(make_clip, clip=clip))
    assert len(shown) >= 2 * FILM_FPS
    assert shown == [on_screen(clip, Fraction(n, FILM_FPS)) for n in range(len(shown))]


@pytest.mark.parametrize("start_ms", [33, 1000, 1017])
def test_slices_from_any_start_show_the_right_source_frame(
    harness: FilmHarness, tmp_path: Path, start_ms: int
) -> None:
    clip = CLIPS["23.976"]
    window = f'sourcein="{start_ms}ms" sourceout="{start_ms + 500}ms"'
    shown = codes_of(harness, tmp_path, partial(make_clip, clip=clip), window)
    start_s = Fraction(start_ms, 1000)
    assert shown == [on_screen(clip, start_s + Fraction(n, FILM_FPS)) for n in range(15)]


@pytest.mark.parametrize("degrees", [90, 180, -90])
def test_a_rotated_source_is_upright(harness: FilmHarness, tmp_path: Path, degrees: int) -> None:
    clip = small(rotation_degrees=degrees, duration_s=Fraction(1))
    assets = LocalAssets(tmp_path, {"source.mp4": partial(make_clip, clip=clip)})
    width, height = (128, 72) if degrees == 180 else (72, 128)
    element = f'<ef-video src="{MEDIA_ORIGIN}source.mp4"></ef-video>'
    rendered = film(harness, sized(element, width, height), assets, **SIZE_FROM_PAGE)
    assert rendered.pictures[0].shape == (height, width, 3)
    # The stored pictures are upright: turned back they can be read, and they fill the film.
    turned = [np.rot90(picture, -degrees // 90) for picture in rendered.pictures]
    assert [read_frame_code(picture) for picture in turned] == list(range(30))


def cut_by_edit_list(path: Path, *, hidden_ms: int) -> None:
    """Write a clip whose first pictures are in the file but, by its edit list, not in the film."""
    whole = make_clip(path.with_name("whole.mp4"), small(b_frames=2, duration_s=Fraction(3)))
    with av.open(whole) as read, av.open(path, "w") as written:
        stream = written.add_stream_from_template(read.streams.video[0], opaque=True)
        for packet in read.demux(video=0):
            if packet.pts is None or packet.dts is None:
                continue
            ticks = int(Fraction(hidden_ms, 1000) / packet.time_base)
            packet.pts, packet.dts = packet.pts - ticks, packet.dts - ticks
            packet.stream = stream
            written.mux(packet)


def test_frames_hidden_by_an_edit_list_are_not_shown(harness: FilmHarness, tmp_path: Path) -> None:
    shown = codes_of(harness, tmp_path, partial(cut_by_edit_list, hidden_ms=1500))
    assert shown == list(range(45, 90))


def test_sound_and_picture_are_in_sync_after_a_minute(harness: FilmHarness, tmp_path: Path) -> None:
    # Rates that share no millisecond and no sample: what drifts, drifts here.
    fps = Fraction(6000, 1001)
    seconds = partial(Clip, fps=fps, width=64, height=36, sample_rate_hz=44_100)
    clip = seconds(duration_s=Fraction(60))
    assets = LocalAssets(tmp_path, {"minute.mp4": partial(make_clip, clip=clip)})
    element = f'<ef-video src="{MEDIA_ORIGIN}minute.mp4"></ef-video>'
    html = sized(element, 64, 36, 'duration="60s"')
    rendered = film(harness, html, assets, width_px=64, height_px=36, fps=fps)
    assert length_s(rendered) == 360 / fps
    expected = [float(n / fps) for n in sorted(clip.flash_numbers)]
    assert len(expected) == 60
    assert flash_times(rendered.path) == pytest.approx(expected)
    assert beep_times(rendered.path) == pytest.approx(expected, abs=0.001)
