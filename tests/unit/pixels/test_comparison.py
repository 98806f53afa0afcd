"""Comparison of planes in blocks: by the kernel, in numpy, and as it is meant."""

import numpy as np
import pytest

from framekiln.pixels import comparison, numpy_kernel
from tests.unit.pixels.test_conversion import needs_kernel, noise

SIZES = [(1, 1), (3, 7), (8, 8), (16, 17), (33, 511), (21, 515), (40, 1030)]


@needs_kernel
@pytest.mark.parametrize("side", [8, 16])
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_the_kernel_compares_as_numpy_does(height: int, width: int, side: int) -> None:
    one, other = (noise((height, width + 3), seed=seed)[:, :width] for seed in (1, 2))
    # Near to each other, so that many pixels are inside of the range and some are not.
    near = np.clip(one.astype(np.int16) + other % 7 - 3, 0, 255).astype(np.uint8)
    for pair in ((one, other), (one, near), (one // 32, near // 32)):
        for name, block in (
            ("block_sums", (side,)),
            ("outside_sums", (side, side)),
            ("outside_sums", (8, 1)),
            ("outside_sums", (1, 32)),
        ):
            made = getattr(comparison, name)(*pair, *block)
            assert np.array_equal(made, getattr(numpy_kernel, name)(*pair, *block))


def test_the_largest_sums_fit() -> None:
    white = np.full((16, 16), 255, np.uint8)
    assert comparison.block_sums(white, white, 16).tolist() == [
        [[256 * 255, 256 * 255, 2 * 256 * 255**2, 256 * 255**2]]
    ]
    assert comparison.outside_sums(white, white - white, 16, 16).tolist() == [[256 * 255]]


def test_a_pixel_counts_as_far_as_it_lies_outside_of_the_range_around_it() -> None:
    one, other = np.full((16, 24), 100, np.uint8), np.full((16, 24), 100, np.uint8)
    one[4, 4], other[6, 6] = 130, 120
    # The other plane has 120 two pixels away; nothing around it in the first one is above 130.
    assert comparison.outside_sums(one, other, 8, 8).tolist() == [[10, 0, 0], [0, 0, 0]]
    assert comparison.outside_sums(other, one, 8, 8).tolist() == [[0, 0, 0], [0, 0, 0]]
    other[6, 6], other[6, 7] = 100, 120
    assert comparison.outside_sums(one, other, 8, 8).tolist() == [[30, 0, 0], [0, 0, 0]]


def test_blocks_may_be_pieces_of_columns_or_rows() -> None:
    one, other = np.full((16, 40), 100, np.uint8), np.full((16, 40), 100, np.uint8)
    one[3, 33:40] = 110
    assert comparison.outside_sums(one, other, 8, 1).nonzero()[1].tolist() == list(range(33, 40))
    sums = comparison.outside_sums(one, other, 1, 32)
    assert (sums.shape, sums[3].tolist(), sums.sum()) == ((16, 2), [0, 70], 70)


def test_partial_blocks_have_fewer_pixels() -> None:
    assert comparison.block_sizes(np.zeros((9, 20), np.uint8), 8).tolist() == [
        [64, 64, 32],
        [8, 8, 4],
    ]
