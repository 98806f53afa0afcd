"""Compositions of the kinds people make, rendered whole and compared with golden pictures.

Each folder of tests/e2e/renders is one; `expect.toml` says what its render must look and sound
like. A picture that differs is left in the temporary folder of the test, to be looked at.
"""

from pathlib import Path

import pytest
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.engine.film_order import PageMethod
from tests.support.golden import (
    FOLDER,
    GoldenComposition,
    RenderedComposition,
    Similarity,
    compare,
    compositions,
    render,
)
from tests.support.libraries import module_makers
from tests.support.local_assets import LocalAssets
from tests.support.looks import decode_still, measure_file
from tests.support.sounds import beep_times, decode_audio, rms
from tests.support.stock_media import stock_makers

ALL = compositions()
# Captions over a video: rendered composed, too. That composed frames of others look as filmed ones,
# `tests/contract/test_composed_pages.py` shows. All are with `make e2e PAGE_METHOD=composed`.
COMPOSED = "talking-head-captions"
# An encoder's noise, and what it smears around a beep.
SILENCE_LEVEL = 0.001
BEEP_TOLERANCE_MS = 10


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return LocalAssets(tmp_path_factory.mktemp("media"), stock_makers() | module_makers())


@pytest.fixture(scope="module", params=ALL, ids=lambda composition: composition.name)
def rendered(
    request: pytest.FixtureRequest,
    browser: Browser,
    assets: LocalAssets,
    tmp_path_factory: pytest.TempPathFactory,
) -> RenderedComposition:
    """One composition, rendered once for all that is to be seen and heard of it."""
    composition: GoldenComposition = request.param
    return render(composition, browser, tmp_path_factory.mktemp("renders"), assets=assets)


def test_a_film_has_its_expected_size_rate_and_duration(rendered: RenderedComposition) -> None:
    expected = rendered.composition.expected
    assert rendered.warnings == ()
    if not rendered.is_film:
        assert decode_still(rendered.path).shape[:2] == (expected.height_px, expected.width_px)
        return
    found = measure_file(rendered.path)
    assert found.video is not None
    assert found.audio is not None
    assert (found.video.width, found.video.height) == (expected.width_px, expected.height_px)
    assert found.video.fps == expected.fps
    assert found.video.is_constant_rate
    assert round(found.video.duration_s * 1000) == expected.duration_ms
    assert round(found.audio.duration_s * 1000) == pytest.approx(expected.duration_ms, abs=1)


def test_a_film_matches_its_golden_pictures(rendered: RenderedComposition, tmp_path: Path) -> None:
    assert differing_pictures(rendered, tmp_path) == {}


def differing_pictures(rendered: RenderedComposition, folder: Path) -> dict[str, Similarity]:
    """Return the pictures that are not like their goldens, written into the folder."""
    expected = rendered.composition.expected
    limit = expected.tile_difference
    if rendered.composed_frames:
        limit = expected.composed_tile_difference
    differing = {}
    for at_ms, picture in rendered.pictures.items():
        likeness = compare(picture, rendered.composition.golden(at_ms))
        if likeness.ssim >= expected.ssim and likeness.tile_difference <= limit:
            continue
        path = folder / rendered.composition.golden_path(at_ms).name
        Image.fromarray(picture).save(path)
        differing[str(path)] = likeness
    return differing


def test_a_composed_film_matches_its_golden_pictures(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    golden, method = GoldenComposition(FOLDER / COMPOSED), PageMethod.COMPOSED
    film = render(golden, browser, tmp_path, assets=assets, method=method)
    assert film.composed_frames > 0
    assert differing_pictures(film, tmp_path) == {}


def test_a_film_has_its_expected_sound(rendered: RenderedComposition) -> None:
    if not rendered.is_film:
        assert measure_file(rendered.path).audio is None
        return
    expected = rendered.composition.expected
    sound = decode_audio(rendered.path)
    if expected.beeps_ms is not None:
        found_ms = [1000 * at_s for at_s in beep_times(rendered.path)]
        assert found_ms == pytest.approx(expected.beeps_ms, abs=BEEP_TOLERANCE_MS)
    for level in expected.levels:
        first, end = (at_ms * sound.rate_hz // 1000 for at_ms in (level.from_ms, level.to_ms))
        heard = rms(sound.mono[first:end])
        assert heard == pytest.approx(level.rms, rel=0.03, abs=SILENCE_LEVEL), level


def test_every_folder_has_its_goldens() -> None:
    """A folder without its files would not be walked, and nobody would see."""
    assert {each.folder for each in ALL} == {path for path in FOLDER.iterdir() if path.is_dir()}
    assert len(ALL) >= 20
    for each in ALL:
        goldens = {each.golden_path(at_ms) for at_ms in each.expected.pictures_ms}
        assert goldens == set(each.folder.glob("*.jpg"))
