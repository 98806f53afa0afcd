"""Pictures given as planes come out as those given as pixels; repetitions repeat."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from framekiln.compositor.picture import picture_of_rgba
from framekiln.media.encode.codecs import VideoCoding
from framekiln.media.encode.film_encoder import FilmEncoder, PixelLayout, VideoSettings
from tests.support.frame_codes import draw_frame_code, read_frame_code

SIZE = (320, 240)


def codes_of(path: Path) -> list[int | None]:
    with av.open(str(path)) as container:
        return [
            read_frame_code(np.asarray(frame.to_ndarray(format="rgb24"), np.uint8))
            for frame in container.decode(video=0)
        ]


def test_planes_are_copied_before_their_buffer_is_reused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "planes.mp4"
    wanted: list[int] = []
    with FilmEncoder(path, VideoSettings(*SIZE, Fraction(25)), PixelLayout.YUV420P) as encoder:
        for number in range(12):
            rgb = draw_frame_code(number, *SIZE)
            opaque = np.full((*rgb.shape[:2], 1), 255, np.uint8)
            picture = picture_of_rgba(np.concatenate([rgb, opaque], axis=2))
            buffer = encoder.buffer()
            buffer[...] = np.concatenate([p.reshape(-1) for p in picture.planes]).reshape(
                buffer.shape
            )
            encoder.write(buffer)
            for _ in range(number % 3):
                encoder.repeat()
            wanted += [number] * (1 + number % 3)
    assert codes_of(path) == wanted


@pytest.mark.parametrize("layout", [PixelLayout.YUV420P, PixelLayout.YUVA420P])
def test_the_last_columns_of_a_prores_film_show_what_the_others_show(
    tmp_path: Path, layout: PixelLayout
) -> None:
    has_alpha = layout is PixelLayout.YUVA420P
    settings = VideoSettings(100, 60, Fraction(25), coding=VideoCoding.PRORES, has_alpha=has_alpha)
    path = tmp_path / "flat.mov"
    with FilmEncoder(path, settings, layout) as encoder:
        buffer = encoder.buffer()
        buffer[...] = 120
        encoder.write(buffer)
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
    for plane in frame.planes:
        rows = np.frombuffer(memoryview(plane), np.uint16).reshape(plane.height, -1)
        levels = rows[:, : plane.width].astype(int)
        assert np.ptp(levels) <= 4
    luma = np.frombuffer(memoryview(frame.planes[0]), np.uint16)
    deep = 12 if "12" in frame.format.name else 10
    assert abs(int(luma[0]) - (120 << deep - 8)) <= 4 << deep - 10
