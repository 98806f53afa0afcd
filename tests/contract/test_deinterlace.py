"""Interlaced video is deinterlaced: same number of frames, same times."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.probe.source import probe_source
from framekiln.media.segments.packet_scan import scan_video
from framekiln.media.tracks.split import process_video, track_path
from tests.support.looks import decode_frames

WIDTH, HEIGHT, COUNT, FPS = 320, 240, 30, 25
PROGRESSIVE = 1  # AVFieldOrder
Luma = NDArray[Any]


def bar(field_time: float) -> Luma:
    """A bright bar on its way to the right, over a fine pattern that stands still."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    picture = (60 + 40 * ((x // 4 + y // 4) % 2)).astype(np.uint8)
    left = round(20 + field_time * 6)
    picture[40:200, left : left + 40] = 220
    return picture


def make_film(
    path: Path, *, is_whole: bool = False, first_field: int = 0, field_order: int | None = None
) -> Path:
    """Write H.264 that says it is interlaced; `is_whole` if both fields are of one instant.

    The container says `field_order`, if that is given.
    """
    order = "tff=1" if first_field == 0 else "bff=1"
    options = {"preset": "ultrafast", "x264-params": f"{order}:keyint=10:crf=8"}
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.colorspace = stream.codec_context.color_primaries = 1
        stream.codec_context.color_range = 1
        if field_order is not None:
            stream.codec_context.field_order = field_order
        for number in range(COUNT):
            pixels = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
            for turn in (0, 1):
                field = (first_field + turn) % 2
                time = number if is_whole else number + turn / 2
                pixels[field:HEIGHT:2] = bar(time)[field::2]
            frame = VideoFrame.from_ndarray(pixels, format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def stored(path: Path) -> list[tuple[int, Luma]]:
    with av.open(path) as container:
        return [(f.pts or 0, f.to_ndarray()[:HEIGHT]) for f in container.decode(video=0)]


def combing(luma: Luma) -> float:
    """How much rows differ from both of their neighbours, beside the bar's ways."""
    rows = luma[60:180].astype(int)
    around = (rows[:-2] + rows[2:]) / 2
    differs_alike = np.abs(rows[:-2] - rows[2:]) < 20
    return float((np.abs(rows[1:-1] - around) * differs_alike > 60).mean())


@pytest.mark.parametrize("first_field", [0, 1], ids=["top first", "bottom first"])
def test_deinterlaced_frames_keep_times_and_durations(tmp_path: Path, first_field: int) -> None:
    path = make_film(tmp_path / "a.mp4", first_field=first_field)
    before = stored(path)
    with VideoDecoder(path) as decoder:
        frames = list(iter(decoder.read, None))
        after = [(frame.pts, frame.to_ndarray()[:HEIGHT]) for frame in frames]
    assert [pts for pts, _ in after] == [pts for pts, _ in before]
    assert {frame.duration * decoder.tick_s for frame in frames} == {Fraction(1, FPS)}
    assert {(frame.colorspace, frame.color_range) for frame in frames} == {(1, 1)}
    assert np.mean([combing(luma) for _, luma in before]) > 0.005
    assert max(combing(luma) for _, luma in after) < 0.0005
    # The bar is where it is in the field that comes first.
    for number, (_, luma) in enumerate(after):
        left = round(20 + number * 6)
        assert luma[120, left + 3] > 180
        assert luma[120, left - 4] < 130


def test_progressive_video_flagged_interlaced_stays_sharp(tmp_path: Path) -> None:
    path = make_film(tmp_path / "a.mp4", is_whole=True)
    with VideoDecoder(path) as decoder:
        after = [frame.to_ndarray()[:HEIGHT].astype(int) for frame in iter(decoder.read, None)]
    differences = [np.abs(a - b) for a, (_, b) in zip(after, stored(path), strict=True)]
    assert np.mean(differences) < 1
    # What stands still is as it was, but in the first picture, which has none before it.
    assert max(each[205:230].max() for each in differences[1:]) <= 8


def test_a_picture_is_the_same_however_it_is_reached(tmp_path: Path) -> None:
    path = make_film(tmp_path / "a.mp4")
    with FrameSource(path, width_px=WIDTH, height_px=HEIGHT) as source:
        forward = [source.rgba_at(Fraction(n * 1000, FPS)).copy() for n in range(COUNT)]
    for number in (29, 20, 10, 9, 21, 0):
        with FrameSource(path, width_px=WIDTH, height_px=HEIGHT) as source:
            assert np.array_equal(source.rgba_at(Fraction(number * 1000, FPS)), forward[number])


@pytest.mark.parametrize("name", ["a.mp4", "called progressive.mkv"])
def test_the_track_is_progressive_with_the_same_frame_count(tmp_path: Path, name: str) -> None:
    path = make_film(tmp_path / name, field_order=PROGRESSIVE if "called" in name else None)
    assert not scan_video(path, probe_source(path)).keyframes
    made = process_video(path, tmp_path / "made", report=lambda _: None)
    assert made.tracks[0].reason == "its pictures are interlaced"
    frames = decode_frames(track_path(tmp_path / "made", 1))
    assert [frame.pts for frame in frames] == [Fraction(n, FPS) for n in range(COUNT)]
    assert max(combing(frame.rgb[..., 1]) for frame in frames) < 0.0005
    assert len(decode_frames(track_path(tmp_path / "made", -1))) == COUNT
