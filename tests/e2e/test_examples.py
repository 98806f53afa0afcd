"""The examples gallery: every example renders without a warning, as its picture shows."""

import numpy as np
import pytest
from PIL import Image

from framekiln.capture.browser import Browser
from tests.support.examples import EXAMPLES, FOLDER, Example, gallery, render_picture
from tests.support.golden import compare

# The pictures are WebP with losses, most of them at the edges of colours.
ALIKE = 0.98
TILE_DIFFERENCE = 60


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_looks_like_its_picture(example: Example, browser: Browser) -> None:
    picture, film = render_picture(example, browser)
    assert film.record.warnings == ()
    with Image.open(example.picture_path) as stored:
        expected = np.asarray(stored.convert("RGB"))
    found = compare(np.asarray(picture), expected)
    assert found.ssim >= ALIKE
    assert found.tile_difference <= TILE_DIFFERENCE


def test_the_gallery_lists_every_example() -> None:
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".html", ".json")}
    assert {example.file for example in EXAMPLES} == files
    assert (FOLDER / "README.md").read_text("utf-8") == gallery()
