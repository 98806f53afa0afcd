"""Transparent films: what players get is opaque over black, what films are made of is not."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.stream import VideoStream
from PIL import Image

from framekiln.media.analysis.overview import overview_task
from framekiln.media.analysis.sampled_frames import sample_frames
from framekiln.media.analysis.thumbnails import write_thumbnails
from framekiln.media.exact_frames import exact_frames_task
from framekiln.media.probe.media_file import probe_media
from framekiln.media.segments.outline import make_outline
from framekiln.media.segments.tasks import make_segment
from framekiln.media.tracks.split import process_video, track_path
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import Picture
from tests.support.looks import decode_frames, psnr

CODINGS = {
    "vp9": ("a.webm", "libvpx-vp9", "yuva420p", {"deadline": "realtime", "crf": "8", "b": "0"}),
    "vp8": ("a.webm", "libvpx", "yuva420p", {"auto-alt-ref": "0", "crf": "8", "b": "900000"}),
    "prores": ("a.mov", "prores_ks", "yuva444p10le", {"profile": "4444"}),
}
Make = Callable[[Path], Path]


def make_glass(folder: Path, coding: str) -> Path:
    """A second of yellow: opaque on the left, half there in the middle, invisible on the right."""
    name, codec, pix_fmt, options = CODINGS[coding]
    rgba = np.zeros((64, 192, 4), np.uint8)
    rgba[..., :2] = 240
    rgba[:, :64, 3], rgba[:, 64:128, 3] = 255, 128
    with av.open(folder / name, "w") as container:
        stream = container.add_stream(codec, rate=10, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 192, 64, pix_fmt
        for number in range(10):
            frame = av.VideoFrame.from_ndarray(rgba, format="rgba").reformat(format=pix_fmt)
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return folder / name


def check_over_black(rgb: Picture) -> None:
    height, width = rgb.shape[:2]
    opaque, half, none = (
        rgb[height // 2, round(width * part)].astype(int) for part in (1 / 6, 1 / 2, 5 / 6)
    )
    assert np.abs(opaque - (240, 240, 0)).max() <= 14
    assert np.abs(half - (120, 120, 0)).max() <= 14
    assert none.max() <= 6


@pytest.mark.parametrize("coding", CODINGS)
def test_tracks_and_thumbnails_show_black_behind(tmp_path: Path, coding: str) -> None:
    source = make_glass(tmp_path, coding)
    process_video(source, tmp_path, report=lambda _: None)
    for track_id in (1, -1):
        check_over_black(decode_frames(track_path(tmp_path, track_id))[5].rgb)
    check_over_black(np.asarray(Image.open(tmp_path / "thumbnails.jpg").convert("RGB")))


def test_playback_shows_black_behind(tmp_path: Path) -> None:
    source = make_glass(tmp_path, "vp9")
    rendition = make_outline(source, None).renditions[0]
    path = tmp_path / "segment.mp4"
    path.write_bytes(rendition.init + make_segment(source, rendition, 1))
    check_over_black(decode_frames(path)[5].rgb)


@pytest.mark.parametrize("coding", CODINGS)
def test_single_frames_show_black_behind(tmp_path: Path, coding: str) -> None:
    """They were white: a reviewer saw another picture than a viewer."""
    source = make_glass(tmp_path, coding)
    [sampled] = sample_frames(source, tmp_path, every_ms=1000)
    args = {"source": str(source), "folder": str(tmp_path), "tick_s": [1, 10], "ticks": [5]}
    exact_frames_task(args, lambda _: None)
    for path in (sampled.path, tmp_path / "0.jpg"):
        check_over_black(np.asarray(Image.open(path).convert("RGB")))


SOURCES: dict[str, Make] = {
    "plain": lambda folder: make_clip(folder / "a.mp4", Clip(b_frames=2, duration_s=Fraction(5))),
    "turned": lambda folder: make_clip(folder / "a.mp4", Clip(rotation_degrees=90)),
    "uneven": lambda folder: make_clip(folder / "a.mkv", Clip(variable_rate=True)),
    "transparent": lambda folder: make_glass(folder, "vp8"),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_thumbnails_are_the_same_in_one_pass_and_alone(tmp_path: Path, make: Make) -> None:
    source = make(tmp_path)
    process_video(source, tmp_path, report=lambda _: None)
    on_the_way = tmp_path / "thumbnails.jpg"
    kept = on_the_way.read_bytes()
    result = overview_task({"source": str(source), "folder": str(tmp_path)}, lambda _: None)
    assert on_the_way.read_bytes() == kept
    sheet = write_thumbnails(source, probe_media(source), tmp_path / "alone.jpg")
    assert result["thumbnails"] == sheet.as_json()
    a, b = (np.asarray(Image.open(path)) for path in (on_the_way, tmp_path / "alone.jpg"))
    assert a.shape == b.shape
    # One is turned before it is made smaller, the other after: chroma of odd sides differs.
    assert psnr(a, b) > 32
