"""Layer configs of the kinds people write, made into films and compared with golden frames.

Each folder of tests/e2e/videos is one. A sheet that differs is left in the temporary folder of the
test, to be looked at beside the golden one.
"""

import re
from pathlib import Path

import pytest
from PIL import Image

from framekiln.capture.browser import Browser
from tests.support.golden import compare
from tests.support.golden_video_media import video_makers
from tests.support.golden_videos import (
    FOLDER,
    GoldenVideo,
    RenderedVideo,
    cells,
    film_video,
    golden_videos,
    sounds_alike,
)
from tests.support.local_assets import LocalAssets
from tests.support.looks import measure_file

ALL = golden_videos()
# Less than 0.98, which the loss of the sheets themselves can cost where all is grass.
ALIKE = 0.97
TILE_DIFFERENCE = 12


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return LocalAssets(tmp_path_factory.mktemp("media"), video_makers())


@pytest.fixture(scope="module", params=ALL, ids=lambda video: video.name)
def filmed(
    request: pytest.FixtureRequest,
    browser: Browser,
    assets: LocalAssets,
    tmp_path_factory: pytest.TempPathFactory,
) -> RenderedVideo:
    """One video, made once for all that is to be seen and heard of it."""
    video: GoldenVideo = request.param
    return film_video(video, browser, tmp_path_factory.mktemp("videos"), assets=assets)


def test_a_film_has_the_properties_of_its_config(filmed: RenderedVideo) -> None:
    config = filmed.video.config
    assert filmed.warnings == ()
    found = measure_file(filmed.path)
    assert found.video is not None
    assert config.dimensions is not None
    size = (config.dimensions.width_px, config.dimensions.height_px)
    assert (found.video.width, found.video.height) == size
    assert found.video.fps == config.fps
    assert found.video.is_constant_rate
    assert found.audio is not None
    if config.duration_s is not None:
        assert abs(found.video.duration_s - config.duration_s) <= 1 / (2 * config.fps)


def test_a_film_matches_its_golden_sheet(filmed: RenderedVideo, tmp_path: Path) -> None:
    golden, sheet = filmed.video.sheet, filmed.sheet
    assert sheet.shape == golden.shape
    differing = {}
    for number, cell in cells(sheet).items():
        likeness = compare(cell, cells(golden)[number])
        if likeness.ssim < ALIKE or likeness.tile_difference > TILE_DIFFERENCE:
            differing[number] = likeness
    if differing:
        Image.fromarray(sheet).save(tmp_path / "sheet.png")
    assert differing == {}, f"see {tmp_path / 'sheet.png'}"


def test_a_film_has_its_golden_levels(filmed: RenderedVideo) -> None:
    assert sounds_alike(filmed.levels, filmed.video.levels), filmed.levels


def test_every_golden_folder_is_complete() -> None:
    assert len(ALL) >= 25
    assert {video.folder for video in ALL} == {path for path in FOLDER.iterdir() if path.is_dir()}
    for video in ALL:
        names = {path.name for path in video.folder.iterdir()}
        posted = {"config.json"} if "config.json" in names else {"template.json", "data.json"}
        assert names == posted | {"sheet.jpg", "levels.json"}


def test_every_layer_type_has_a_golden_film() -> None:
    texts = [video.config_path.read_text("utf-8") for video in ALL]
    types = {found for text in texts for found in re.findall(r'"type": "(\w+)"', text)}
    wanted = "video audio image text html lottie waveform subtitles filter group sequence shape"
    assert set(wanted.split()) <= types
