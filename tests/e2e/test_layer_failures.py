"""Bugs that films of layers once had; each test asserts the right behaviour."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from framekiln.capture.browser import Browser
from tests.support.clips import Clip, make_clip
from tests.support.layer_films import config_of, film_of, mean_colour, open_layer_film
from tests.support.layer_media import image, layer_media, rect
from tests.support.layer_oracle import SAID, oracle_media
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import decode_frames, ssim


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return layer_media(tmp_path_factory.mktemp("media"))


@pytest.mark.parametrize("height", [180, 182, 270])
def test_colours_are_not_shifted_when_the_height_is_no_multiple_of_four(
    browser: Browser, assets: LocalAssets, tmp_path: Path, height: int
) -> None:
    colours = ["#ff0000", "#00ff00", "#0000ff"]
    stripe = height // 6 * 2
    layers = [rect(colour, (0, n * stripe, 320, stripe)) for n, colour in enumerate(colours)]
    config = config_of(*layers, dimensions={"width": 320, "height": height}, duration=0.2)
    picture = decode_frames(film_of(config, browser, assets, tmp_path / "a.mp4"))[0].rgb
    assert picture.shape[:2] == (height, 320)
    with open_layer_film(config, None, assets) as film:
        assert np.abs(picture.astype(int) - film.frame(0)).mean() < 3
    for number in range(3):
        top = number * stripe
        seen = mean_colour(picture, 10, top + 6, 310, top + stripe - 6)
        assert seen == pytest.approx([255 * (n == number) for n in range(3)], abs=12)


def test_the_last_layer_of_a_sequence_continues_after_its_crossfade(assets: LocalAssets) -> None:
    first = image(size={"format": "stretch"}, trim={"end": 1})
    last = rect("#0000ff", (0, 0, 320, 240))
    last["transitions"] = [{"type": "crossfadeIn", "duration": 0.5}]
    sequence = {"type": "sequence", "layers": [first, last]}
    with open_layer_film(config_of(sequence), None, assets) as film:
        assert mean_colour(film.frame(59), 10, 10, 300, 200) == pytest.approx([0, 0, 255], abs=4)


def test_text_on_a_skewed_background_is_visible(browser: Browser, assets: LocalAssets) -> None:
    style = {
        "text": "Hg",
        "fontSize": 80,
        "color": "#ff0000",
        "backgroundColor": "#ffffff",
        "backgroundTransform": "skewX(-10deg)",
    }
    with open_layer_film(config_of({"type": "text", "text": style}), browser, assets) as film:
        picture = film.frame(0).astype(int)
    assert ((picture[..., 0] > 200) & (picture[..., 1] < 60)).sum() > 1000


BRIGHT = {"name": "brightness", "options": {"brightness": 200}}


@pytest.mark.parametrize("is_layer", [True, False], ids=["film", "layer"])
def test_colours_brighter_than_white_are_clipped_in_rgb(
    assets: LocalAssets, is_layer: bool
) -> None:
    colour = (200, 220, 240)
    layers: list[dict[str, Any]] = [rect("#c8dcf0", (0, 0, 320, 240))]
    if is_layer:
        layers.append({"type": "filter", "filter": BRIGHT})
    else:
        layers[0]["filters"] = [BRIGHT, {"name": "negative"}]
    with open_layer_film(config_of(*layers), None, assets) as film:
        wanted = [min(255, 2 * level) for level in colour]
        seen = wanted if is_layer else [255 - level for level in wanted]
        assert mean_colour(film.frame(0), 10, 10, 300, 200) == pytest.approx(seen, abs=3)


def test_captions_of_two_lines_stay_inside_the_picture(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assets = oracle_media(tmp_path_factory.mktemp("captions"))
    layer = {"type": "subtitles", "file": SAID, "subtitles": {"backgroundColor": "#ff0000"}}
    config = config_of(layer, dimensions={"width": 320, "height": 180})
    with open_layer_film(config, browser, assets) as film:
        one, two = (film.frame(number)[..., 0] > 128 for number in (20, 45))
    for seen in (one, two):
        rows = np.flatnonzero(seen.any(axis=1))
        assert rows.max() < 178
    assert np.flatnonzero(two.any(axis=1)).min() < np.flatnonzero(one.any(axis=1)).min()


def test_videos_that_fill_a_box_are_placed_exactly(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """480 x 270 would be 426.67 wide; of its own pixels just as many can be cut off as must be."""
    folder = tmp_path_factory.mktemp("wide")
    clip = Clip(width=480, height=270, duration_s=Fraction(1, 5), audio_codec=None)
    files = LocalAssets(folder, {"clip.mp4": lambda path: make_clip(path, clip)})
    layer = {"type": "video", "file": MEDIA_ORIGIN + "clip.mp4", "size": {"format": "fill"}}
    with open_layer_film(config_of(layer, duration=0.2), None, files) as film:
        mine = film.frame(3)
    source = Image.fromarray(decode_frames(folder / "clip.mp4")[3].rgb)
    wanted = source.resize((320, 240), Image.Resampling.BOX, box=(60, 0, 420, 270))
    assert ssim(mine, np.asarray(wanted)) > 0.98
