"""Warnings of v2 videos that come from their renders."""

import pytest

from framekiln.api.v2.bodies import render_warning
from framekiln.kit.warning_text import WarningText


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (
            "layers.0.trim.end: the source ends before",
            "layers.0.trim.end",
            "the source ends before",
        ),
        ("layers.1.layers.0: a: b\nc", "layers.1.layers.0", "a: b\nc"),
        ("the font is missing: Lato", "", "the font is missing: Lato"),
    ],
)
def test_the_path_of_a_render_warning_is_a_field_of_its_own(
    text: str, path: str, message: str
) -> None:
    assert render_warning(text, {}) == {"path": path, "code": "render", "message": message}


def test_a_warning_that_was_found_while_drawing_has_its_code() -> None:
    text = WarningText("text_overflows", "layers.0: the text is larger than its box")
    assert render_warning(text, {}) == {
        "path": "layers.0",
        "code": "text_overflows",
        "message": "the text is larger than its box",
    }


def test_a_warning_of_the_plan_keeps_its_code_and_hint() -> None:
    found = {"path": "layers.0", "code": "clipped", "message": "too long", "hint": "shorten it"}
    assert render_warning("layers.0: too long", {"layers.0: too long": found}) == found
