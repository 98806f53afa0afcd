"""Stills brought to the size at which they are shown."""

import hashlib

import numpy as np
import pytest

from framekiln.compositor.picture import Rgba
from framekiln.engine.layers.layer_effects import resize_sheet


def sheet(height: int = 30, width: int = 40) -> Rgba:
    """Return premultiplied pixels with soft and hard edges, made by whole numbers alone."""
    y, x = np.mgrid[0:height, 0:width]
    alpha = np.where((x // 7 + y // 5) % 3 == 0, 255, (x * 31 + y * 17) % 256)
    colours = [(x * a + y * b) % 256 * alpha // 255 for a, b in ((13, 7), (5, 29), (211, 3))]
    return np.dstack([*colours, alpha]).astype(np.uint8)


def test_an_enlarged_still_is_the_same_bytes_on_every_processor() -> None:
    sums = [
        hashlib.sha256(resize_sheet(sheet(), width, height).tobytes()).hexdigest()[:16]
        for width, height in ((41, 31), (80, 60), (133, 97))
    ]
    assert sums == ["2b26da8f6c6c7b7f", "06e02a9e240caeb2", "9cc6122fdb7557f5"]


@pytest.mark.parametrize("size", [(97, 61), (17, 11)])
def test_no_colour_of_a_fitted_still_is_more_than_its_alpha(size: tuple[int, int]) -> None:
    fitted = resize_sheet(sheet(), *size)
    assert fitted.shape == (size[1], size[0], 4)
    assert bool((fitted[..., :3] <= fitted[..., 3:]).all())


def test_an_enlarged_edge_stays_sharp() -> None:
    pixels = np.full((8, 16, 4), 255, np.uint8)
    pixels[:, 8:, :3] = 0
    row = resize_sheet(pixels, 64, 32)[16, :, 0]
    # From white to black within the width of one source pixel; linear ways take longer.
    assert [int(each) for each in (row[:30].min() > 230, row[34:].max() < 25)] == [1, 1]
