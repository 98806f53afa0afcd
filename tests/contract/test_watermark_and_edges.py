"""What is laid over a whole film: the watermark, and the filter that draws edges."""

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from tests.support.layer_films import config_of, open_layer_film
from tests.support.layer_media import STILL, image, layer_media, rect, video
from tests.support.local_assets import LocalAssets


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return layer_media(tmp_path_factory.mktemp("media"))


def test_a_watermark_is_in_the_corner_over_everything(
    browser: Browser, assets: LocalAssets
) -> None:
    blue = rect("#0000ff", (0, 0, 320, 240), position={"z": 1_000_000})
    with open_layer_film(config_of(blue, shouldWatermark=True), browser, assets) as film:
        marked = film.frame(0).astype(int)
        assert not film.changed(59), "it stands still"
    with open_layer_film(config_of(blue), None, assets) as film:
        plain = film.frame(0).astype(int)
    rows, columns = np.nonzero(np.abs(marked - plain).max(axis=2) > 60)
    assert len(rows) > 100
    assert rows.min() > 200
    assert columns.min() > 160
    assert columns.max() > 290


def test_an_edge_filter_applies_to_the_layers_below(assets: LocalAssets) -> None:
    box = rect("#ffffff", (100, 80, 100, 80))
    sketch = {"type": "filter", "filter": {"name": "sobel"}, "timeline": {"start": 1}}
    with open_layer_film(config_of(box, sketch), None, assets) as film:
        assert film.frame(29)[120, 150].min() > 250
        drawn = film.frame(30)
    assert drawn[120, 150].max() == 0
    assert drawn[120, 100].min() > 200
    assert drawn[120, 199].min() > 200
    assert drawn[20, 20].max() == 0


def test_an_edge_filter_of_a_layer_applies_after_its_other_filters(assets: LocalAssets) -> None:
    both = [{"name": "negative"}, {"name": "sobel"}, {"name": "negative"}]
    still = image(STILL, filters=both)
    with open_layer_film(config_of(still, video(position={"x": 1000})), None, assets) as film:
        picture = film.frame(0)
    # Black lines on white paper.
    shares = [float((picture.max(axis=2) < 60).mean()), float((picture.min(axis=2) > 200).mean())]
    assert 0.001 < shares[0] < 0.2
    assert shares[1] > 0.5
