"""However much a layer is enlarged, what is drawn for it stays small enough to be drawn."""

from typing import Any

import pytest

from framekiln.engine.layers.geometry import is_in_place, largest_side_px, sampled_states
from framekiln.engine.layers.painters.image import raster_size
from tests.unit.composition.layers.configs import film, image

SIZES: list[dict[str, Any]] = [
    {"scale": 100},
    {"crop": {"left": 0.999}, "width": 4000},
    {"width": 100_000},
]
TURNED = {"position": {"angle": 10}}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("more", [{}, TURNED], ids=["upright", "turned"])
def test_no_size_of_a_layer_needs_more_pixels_than_two_canvases(
    size: dict[str, Any], more: dict[str, Any]
) -> None:
    (layer,) = film(image(size=size, **more)).layers
    assert max(*raster_size(layer), *largest_side_px(layer)) <= 8192
    (state,) = sampled_states(layer)
    is_huge = max(state.width, state.height) * state.scale > 8192
    assert is_in_place(state) == (not is_huge and not more)
