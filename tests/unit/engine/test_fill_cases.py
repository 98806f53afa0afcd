"""The cases with which the studio checks its preview of a redaction are those of the renderer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.compositor.picture import Picture
from framekiln.compositor.rect import PixelRect
from framekiln.engine.redaction import hide_all

CASES = Path(__file__).parents[3] / "studio" / "test" / "fill_cases.json"


def filled(case: Any) -> list[int]:
    """Return the grey picture of a case with its rectangles hidden, row by row."""
    width, height = case["width_px"], case["height_px"]
    luma = np.array(case["pixels"], np.uint8).reshape(height, width)
    chroma = [np.full((height // 2, width // 2), 128, np.uint8) for _ in range(2)]
    hide_all(Picture(luma, *chroma), [PixelRect(*each) for each in case["rects"]])
    assert all(np.all(plane == 128) for plane in chroma)
    return [int(each) for each in luma.ravel()]


@pytest.mark.parametrize("case", json.loads(CASES.read_text()), ids=lambda case: case["name"])
def test_the_renderer_fills_as_the_studio_expects(case: Any) -> None:
    assert filled(case) == case["expected"]
