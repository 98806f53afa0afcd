"""Surfaces by the kernel, in numpy, and as they are meant."""

import numpy as np
import pytest

from framekiln.pixels import native
from framekiln.pixels.surface import Edges, fill_surface
from tests.unit.pixels.test_conversion import needs_kernel, noise

SIZES = [(1, 1), (1, 9), (7, 1), (2, 3), (33, 70), (140, 161)]


def edges_of(height: int, width: int, *, seed: int, spread: float = 1.0) -> Edges:
    random = np.random.default_rng(seed)
    lengths = (width, width, height, height)
    values = (255 * spread * random.random(length) for length in lengths)
    return Edges(*((each + 127.5 * (1 - spread)).astype(np.float32) for each in values))


@needs_kernel
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_the_kernel_fills_as_numpy_does(
    height: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second one leaves the range of bytes.
    for spread in (1.0, 3.0):
        edges = edges_of(height, width, seed=height, spread=spread)
        around = [noise((height + 4, width + 5), seed=width) for _ in range(2)]
        for plane, library in zip(around, (native.library(), None), strict=True):
            monkeypatch.setattr(native, "library", lambda found=library: found)
            fill_surface(plane[2:-2, 3:-2], edges)
            monkeypatch.undo()
        assert np.array_equal(around[0], around[1])
        untouched = noise((height + 4, width + 5), seed=width)
        untouched[2:-2, 3:-2] = around[0][2:-2, 3:-2]
        assert np.array_equal(around[0], untouched)


def test_a_surface_meets_its_edges_and_is_even_between_even_ones() -> None:
    ramp = np.linspace(20, 220, 41, dtype=np.float32)
    level, high = np.full(31, 20, np.float32), np.full(31, 220, np.float32)
    plane = np.zeros((31, 41), np.uint8)
    fill_surface(plane, Edges(ramp, ramp, level, high))
    assert (plane == np.round(ramp).astype(np.uint8)).all()
