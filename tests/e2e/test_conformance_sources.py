"""Every output frame shows the source frame that is on screen then, whatever the source is like."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import ceil, floor
from pathlib import Path

import av
import numpy as np
import pytest

from tests.e2e.conformance import film, length_s, scene
from tests.e2e.conftest import FilmHarness
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import Picture, read_frame_code
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


@dataclass(frozen=True)
class Shown:
    """A video of a film: its place, the attributes of its element, and who writes its file."""

    make: Maker
    width: int = 128
    height: int = 72
    attributes: str = ""


def videos_of(harness: FilmHarness, folder: Path, videos: list[Shown]) -> list[list[Picture]]:
    """Film videos beside each other and return the pictures of each."""
    assets = LocalAssets(folder, {f"{n}.mp4": each.make for n, each in enumerate(videos)})
    lefts = [0, *accumulate(each.width for each in videos)]
    elements = "".join(
        f'<ef-video src="{MEDIA_ORIGIN}{n}.mp4" {each.attributes}'
        f' style="position:absolute;left:{lefts[n]}px;top:0"></ef-video>'
        for n, each in enumerate(videos)
    )
    width, height = lefts[-1], max(each.height for each in videos)
    html = sized(elements, width, height)
    rendered = film(harness, html, assets, width_px=width, height_px=height)
    return [
        [picture[: each.height, left : left + each.width] for picture in rendered.pictures]
        for left, each in zip(lefts, videos, strict=False)
    ]


def codes(pictures: list[Picture]) -> list[int | None]:
    return [read_frame_code(picture) for picture in pictures]


def test_every_frame_shows_the_right_source_frame(harness: FilmHarness, tmp_path: Path) -> None:
    videos = [Shown(partial(make_clip, clip=clip)) for clip in CLIPS.values()]
    for name, shown in zip(CLIPS, videos_of(harness, tmp_path, videos), strict=True):
        clip = CLIPS[name]
        # What follows shows the end of longer clips.
        count = ceil((clip.frame_numbers[-1] + 1) / clip.fps * FILM_FPS)
        assert count >= 2 * FILM_FPS
        expected = [on_screen(clip, Fraction(n, FILM_FPS)) for n in range(count)]
        assert codes(shown[:count]) == expected, name


def test_slices_from_any_start_show_the_right_source_frame(
    harness: FilmHarness, tmp_path: Path
) -> None:
    clip, starts_ms = CLIPS["23.976"], (33, 1000, 1017)
    videos = [
        Shown(
            partial(make_clip, clip=clip), attributes=f'sourcein="{ms}ms" sourceout="{ms + 500}ms"'
        )
        for ms in starts_ms
    ]
    assert list(map(codes, videos_of(harness, tmp_path, videos))) == [
        [on_screen(clip, Fraction(ms, 1000) + Fraction(n, FILM_FPS)) for n in range(15)]
        for ms in starts_ms
    ]


def test_a_rotated_source_is_upright(harness: FilmHarness, tmp_path: Path) -> None:
    sizes = {90: (72, 128), 180: (128, 72), -90: (72, 128)}
    videos = [
        Shown(
            partial(make_clip, clip=small(rotation_degrees=degrees, duration_s=Fraction(1))),
            *size,
        )
        for degrees, size in sizes.items()
    ]
    for degrees, shown in zip(sizes, videos_of(harness, tmp_path, videos), strict=True):
        # The stored pictures are upright: turned back they can be read, and they fill their place.
        turned = [np.rot90(picture, -degrees // 90) for picture in shown]
        assert codes(turned) == list(range(30)), degrees


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
    cut = Shown(partial(cut_by_edit_list, hidden_ms=1500))
    [shown] = videos_of(harness, tmp_path, [cut])
    assert codes(shown) == list(range(45, 90))


def test_sound_and_picture_are_in_sync_after_a_minute(harness: FilmHarness, tmp_path: Path) -> None:
    # Rates that share no millisecond and no sample: what drifts, drifts here.
    fps = Fraction(2400, 1001)
    seconds = partial(Clip, fps=fps, width=64, height=36, sample_rate_hz=44_100, channels=1)
    clip = seconds(duration_s=Fraction(60))
    assets = LocalAssets(tmp_path, {"minute.mp4": partial(make_clip, clip=clip)})
    element = f'<ef-video src="{MEDIA_ORIGIN}minute.mp4"></ef-video>'
    html = sized(element, 64, 36, 'duration="60s"')
    rendered = film(harness, html, assets, width_px=64, height_px=36, fps=fps)
    assert length_s(rendered) == 144 / fps
    expected = [float(n / fps) for n in sorted(clip.flash_numbers)]
    assert len(expected) == 60
    assert flash_times(rendered.path) == pytest.approx(expected)
    assert beep_times(rendered.path) == pytest.approx(expected, abs=0.001)
