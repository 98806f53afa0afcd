"""The cases with which the studio checks its own rule for boxes are those of the renderer."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.engine.redaction import MovingBox

CASES = Path(__file__).parents[3] / "studio" / "test" / "redaction_cases.json"


def expected_of(case: Any) -> Any:
    """Return what the renderer hides in a frame: the area, and the pixels with their margin."""
    box = MovingBox.from_json(case["annotation"])
    span = Fraction(case["from_ms"]), Fraction(case["until_ms"])
    if not box.is_shown_between(*span):
        return None
    area = box.area_between(*span)
    return {
        "area": [area.left, area.top, area.right, area.bottom],
        "pixels": list(area.pixel_rect(case["width_px"], case["height_px"])),
    }


@pytest.mark.parametrize("case", json.loads(CASES.read_text()), ids=lambda case: case["name"])
def test_the_renderer_hides_what_the_studio_expects(case: Any) -> None:
    assert expected_of(case) == case["expected"]
