"""Layers that no page can draw, against plain arithmetic: keyed colours and drawn sound."""

import wave
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.clips import write_picture
from tests.support.frame_codes import Picture
from tests.support.golden_video_media import GREEN, presenter, video_makers
from tests.support.layer_films import config_of, open_layer_film
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets, Maker
from tests.support.looks import ssim

SIZE = (240, 320)
KEY = {"color": "#1ec83c", "similarity": 0.2, "blend": 0.15}
GROUND_RGB = (200, 60, 120)
RATE_HZ = 48_000
WINDOW = 2048
BANDS = 48
Values = NDArray[np.float64]


def sweep() -> Values:
    """Two seconds from 100 Hz to 8 kHz, half as loud as can be."""
    time_s = np.arange(2 * RATE_HZ) / RATE_HZ
    octaves = np.log2(80) / 2
    phase = 2 * np.pi * 100 * (2 ** (octaves * time_s) - 1) / (octaves * np.log(2))
    return np.asarray(0.5 * np.sin(phase))


def sweeping(path: Path) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes((sweep() * 32767).round().astype("<i2").tobytes())


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    makers: dict[str, Maker] = {
        "presenter.png": lambda path: write_picture(path, presenter()),
        "presenter.mp4": video_makers()["presenter.mp4"],
        "sweep.wav": partial(sweeping),
    }
    return LocalAssets(tmp_path_factory.mktemp("media"), makers)


def chroma(rgb: Values) -> Values:
    """Blue and red difference of BT.709, each at most a half either way."""
    luma = rgb @ np.array([0.2126, 0.7152, 0.0722])
    return np.stack([(rgb[..., 2] - luma) / 1.8556, (rgb[..., 0] - luma) / 1.5748], axis=-1)


def keyed(pixels: Picture) -> Picture:
    """What is to be seen: the ground wherever a colour is near enough to the key."""
    rgb = pixels / 255
    away = np.linalg.norm(chroma(rgb) - chroma(np.array(GREEN) / 255), axis=-1)
    cover = np.clip((away - 0.2) / 0.15, 0, 1)[..., None]
    mixed = cover * pixels + (1 - cover) * np.array(GROUND_RGB)
    return mixed.round().astype(np.uint8)


@pytest.mark.parametrize(("kind", "file"), [("image", "presenter.png"), ("video", "presenter.mp4")])
def test_a_keyed_colour_shows_what_is_below(assets: LocalAssets, kind: str, file: str) -> None:
    layer = {"type": kind, "file": MEDIA_ORIGIN + file, "chromaKey": KEY}
    with open_layer_film(config_of(layer, backgroundColor="#c83c78"), None, assets) as film:
        for number in (0, 12, 25):
            mine, wanted = film.frame(number), keyed(presenter(number if kind == "video" else 0))
            assert ssim(mine, wanted) > 0.98
            assert np.abs(mine.astype(int) - wanted).mean() < 3


def heard_at(time_s: float) -> Values:
    middle = round(time_s * RATE_HZ)
    return sweep()[middle - WINDOW // 2 : middle + WINDOW // 2]


def levels(samples: Values) -> Values:
    """How loud each of the bands is: 0 at -80 dB, 1 at -18 dB of full."""
    turns = np.exp(-2j * np.pi * np.outer(np.arange(WINDOW // 2), np.arange(WINDOW)) / WINDOW)
    bell = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / (WINDOW - 1))
    tones = np.abs(turns @ (samples * bell)) / (WINDOW / 4)
    edges = 60 * (12_000 / 60) ** (np.arange(BANDS + 1) / BANDS) * WINDOW / RATE_HZ
    loudest = [
        tones[int(low) : max(int(low) + 1, int(np.ceil(high)))].max()
        for low, high in pairwise(edges)
    ]
    return np.clip((20 * np.log10(np.maximum(loudest, 1e-9)) + 80) / 62, 0, 1)


def drawn_bars(samples: Values) -> Picture:
    """Bars on the bottom, a bit more than a third of each band's width left free."""
    pixels = np.zeros((*SIZE, 3))
    pitch = SIZE[1] / BANDS
    places = np.arange(SIZE[1]) + 0.5
    for band, level in enumerate(levels(samples)):
        middle = (band + 0.5) * pitch
        across = np.clip(pitch * 0.325 + 0.5 - np.abs(places - middle), 0, 1)
        down = np.clip(np.arange(SIZE[0]) + 1 - (SIZE[0] - level * SIZE[0]), 0, 1)
        pixels = np.maximum(pixels, (down[:, None] * across * 255)[..., None])
    return pixels.round().astype(np.uint8)


def test_bars_are_at_the_frequencies_of_the_tones(assets: LocalAssets) -> None:
    layer = {"type": "waveform", "file": MEDIA_ORIGIN + "sweep.wav"}
    with open_layer_film(config_of(layer), None, assets) as film:
        for number in (6, 30, 50):
            alike = ssim(film.frame(number), drawn_bars(heard_at(number / 30)))
            assert alike > 0.98, alike


def test_a_line_follows_the_samples(assets: LocalAssets) -> None:
    layer = {"type": "waveform", "file": MEDIA_ORIGIN + "sweep.wav", "waveform": {"style": "line"}}
    with open_layer_film(config_of(layer), None, assets) as film:
        for number in (3, 9):
            inked = film.frame(number)[..., 1].astype(float)
            columns = inked.sum(axis=0) > 0
            ys = (inked * (np.arange(SIZE[0])[:, None] + 0.5)).sum(axis=0)[columns]
            middle = ys / inked.sum(axis=0)[columns]
            places = (np.arange(SIZE[1])[columns] + 0.5) * WINDOW / SIZE[1]
            wave_px = (
                SIZE[0] / 2 * (1 - np.interp(places, np.arange(WINDOW), heard_at(number / 30)))
            )
            # A stroke is some pixels high where it is steep, and stays inside the box.
            assert np.corrcoef(middle, wave_px)[0, 1] > 0.99
            assert 0.8 < np.polyfit(wave_px, middle, 1)[0] < 1
