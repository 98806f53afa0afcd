"""Pictures given as planes come out as those given as pixels; repetitions repeat."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from framekiln.compositor.picture import picture_of_rgba
from framekiln.media.writing.encode import FilmEncoder, Layout, VideoSettings
from tests.support.frame_codes import draw_frame_code, read_frame_code

SIZE = (320, 240)


def codes_of(path: Path) -> list[int | None]:
    with av.open(str(path)) as container:
        return [
            read_frame_code(np.asarray(frame.to_ndarray(format="rgb24"), np.uint8))
            for frame in container.decode(video=0)
        ]


def test_planes_are_encoded_as_they_are_and_repeated_after_their_buffer_went_on(
    tmp_path: Path,
) -> None:
    path = tmp_path / "planes.mp4"
    wanted: list[int] = []
    with FilmEncoder(path, VideoSettings(*SIZE, Fraction(25)), Layout.YUV420P) as encoder:
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
