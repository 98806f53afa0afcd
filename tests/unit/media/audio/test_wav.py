"""Raw sound from a page becomes a file like any other."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from framekiln.media.audio.decoder import read_audio
from framekiln.media.audio.wav import write_wav


def read(path: Path, count: int) -> np.ndarray:
    return np.concatenate([stretch.samples for stretch in read_audio(path, 0, count)], axis=1)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 20])
def test_a_wav_is_read_back(tmp_path: Path, size: int) -> None:
    samples = np.linspace(-1, 1, 2 * 500, dtype=np.float32).reshape(-1, 2)
    path = tmp_path / "sound.wav"
    assert write_wav(pieces(samples.tobytes(), size), path) == 500
    assert np.array_equal(read(path, 500), samples.T)


def test_nan_becomes_silence_and_an_incomplete_sample_is_dropped(tmp_path: Path) -> None:
    values = np.array([np.nan, 1, np.inf, -np.inf, 1e30, 0.5], np.float32)
    path = tmp_path / "sound.wav"
    assert write_wav([values.tobytes() + b"\0\0\0"], path) == 3
    assert read(path, 3).T.tolist() == [[0, 1], [16, -16], [16, 0.5]]


def test_no_samples_have_length_zero(tmp_path: Path) -> None:
    assert write_wav([], tmp_path / "sound.wav") == 0
