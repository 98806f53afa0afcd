"""The small pictures and the waveform of a video: the right pictures, the right loudness."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from framekiln.media.analysis.overview import overview_task
from framekiln.media.analysis.thumbnails import tile_size, tile_times_ms
from framekiln.media.audio.decoder import RATE_HZ, AudioChunk
from framekiln.media.audio.waveform import MAX_PEAKS, _Outline
from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe.media_file import VideoFacts
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import Picture, read_frame_code


def make(source: Path, folder: Path) -> dict[str, Any]:
    return overview_task({"source": str(source), "folder": str(folder)}, lambda _: None)


def tiles(folder: Path, sheet: dict[str, Any]) -> list[Picture]:
    pixels = np.asarray(Image.open(folder / "thumbnails.jpg").convert("RGB"))
    width, height = sheet["tile_width_px"], sheet["tile_height_px"]
    assert pixels.shape == (sheet["rows"] * height, sheet["columns"] * width, 3)
    places = [divmod(n, sheet["columns"]) for n in range(sheet["count"])]
    return [
        pixels[row * height : (row + 1) * height, column * width : (column + 1) * width]
        for row, column in places
    ]


@pytest.mark.parametrize("rotation", [0, 90])
def test_each_tile_shows_the_picture_of_its_time(tmp_path: Path, rotation: int) -> None:
    clip = Clip(
        fps=Fraction(10), duration_s=Fraction(13), b_frames=2, rotation_degrees=rotation,
        audio_codec=None,
    )  # fmt: skip
    made = make(make_clip(tmp_path / "a.mp4", clip), tmp_path)
    sheet = made["thumbnails"]
    assert (sheet["columns"], sheet["rows"], sheet["count"]) == (10, 2, 13)
    assert sheet["times_ms"] == [1000 * n for n in range(13)]
    shape = (sheet["tile_width_px"], sheet["tile_height_px"])
    assert shape == ((160, 120) if rotation == 0 else (160, 213))
    pictures = [np.rot90(tile, -rotation // 90) for tile in tiles(tmp_path, sheet)]
    assert [read_frame_code(picture) for picture in pictures] == [10 * n for n in range(13)]
    assert made["waveform"] is None
    assert not (tmp_path / "waveform.json").exists()


def test_the_waveform_is_loud_where_the_beeps_are(tmp_path: Path) -> None:
    clip = Clip(video_codec=None, audio_codec="pcm_s16le", duration_s=Fraction(3))
    made = make(make_clip(tmp_path / "a.wav", clip), tmp_path)
    assert made["thumbnails"] is None
    assert not (tmp_path / "thumbnails.jpg").exists()
    waveform = json.loads((tmp_path / "waveform.json").read_text())
    assert (waveform["length"], waveform["samples_per_pixel"]) == (300, 480)
    assert waveform["sample_rate"] == 48_000
    peaks = np.array(waveform["data"]).reshape(-1, 2)
    loud = np.flatnonzero(peaks[:, 1] > 60)
    assert loud.tolist() == [100 * second + n for second in range(3) for n in range(10)]
    assert peaks[loud].min() in (-64, -63)
    assert peaks.max() in (63, 64)
    assert not peaks[10:100].any()


def test_thumbnails_and_waveform_are_made_in_one_pass(tmp_path: Path) -> None:
    source, folder = make_clip(tmp_path / "a.mkv"), tmp_path / "out"
    folder.mkdir()
    made = make(source, folder)
    assert made["problems"] == []
    # The sound is encoded in whole frames, so the file is a little longer than two seconds.
    assert made["thumbnails"]["count"] == 3
    assert 200 <= made["waveform"]["length"] <= 205
    assert sorted(p.name for p in folder.iterdir()) == ["thumbnails.jpg", "waveform.json"]


def test_files_that_are_not_media_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_text("#EXTM3U\n")
    with pytest.raises(UnreadableMedia):
        make(tmp_path / "a.mp4", tmp_path)


def test_a_long_sound_has_a_bounded_number_of_peaks() -> None:
    outline = _Outline()
    second = np.zeros((2, RATE_HZ), np.float32)
    for number in range(500):
        samples = second.copy()
        samples[:, 100] = 0.5 if number == 444 else 0.1
        samples[:, 200] = -0.25
        outline.add(AudioChunk(number * RATE_HZ, samples))
    waveform = outline.finish()
    assert waveform.samples_per_peak == 480 * 4
    peaks = np.array(waveform.peaks).reshape(-1, 2)
    assert len(peaks) == 500 * 25 <= MAX_PEAKS
    assert np.flatnonzero(peaks[:, 1] == 64).tolist() == [444 * 25]
    assert (peaks[::25, 0] == -32).all()


def test_gaps_and_late_starts_are_silence() -> None:
    outline = _Outline()
    loud = np.ones((2, 480), np.float32)
    outline.add(AudioChunk(960, loud))
    outline.add(AudioChunk(2400, loud * np.float32(np.nan)))
    outline.add(AudioChunk(2880, loud[:, :10] * 9))
    peaks = np.array(outline.finish().peaks).reshape(-1, 2)
    assert peaks[:, 1].tolist() == [0, 0, 127, 0, 0, 0, 127]


def test_thumbnail_times_are_even_for_any_duration() -> None:
    assert tile_times_ms(Fraction(0)) == [0]
    assert tile_times_ms(Fraction(999)) == [0]
    assert tile_times_ms(Fraction(2500)) == [0, Fraction(2500, 3), Fraction(5000, 3)]
    hour = tile_times_ms(Fraction(3_600_000))
    assert (len(hour), hour[1], hour[-1]) == (100, 36_000, 3_564_000)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((1920, 1080), (160, 90)),
        ((1080, 1920), (160, 284)),
        ((10, 8000), (1, 320)),
        ((8000, 2), (160, 1)),
        ((100, 100), (160, 160)),
    ],
)
def test_tiles_have_the_shape_of_the_video(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    video = VideoFacts(*size, 0, True, Fraction(25), "h264", "yuv420p", False, False, Fraction(0))
    assert tile_size(video) == expected
