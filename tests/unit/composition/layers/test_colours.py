"""Colours in every notation that a config takes."""

import pytest

from framekiln.composition.layers.colours import NAMED, read_colour


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("#fff", "#FFFFFFFF"),
        ("#1234", "#11223344"),
        ("#A0b1C2", "#A0B1C2FF"),
        (" #a0b1c2d3 ", "#A0B1C2D3"),
        ("rgb(255, 0, 127)", "#FF007FFF"),
        ("rgba(255,0,0,0.5)", "#FF000080"),
        ("rgb(100% 0% 50% / 25%)", "#FF008040"),
        ("rgb(300, -5, 0)", "#FF0000FF"),
        ("hsl(120, 100%, 25%)", "#008000FF"),
        ("hsla(-240deg 100% 50% / 0)", "#00FF0000"),
        ("RebeccaPurple", "#663399FF"),
        ("transparent", "#00000000"),
    ],
)
def test_css_colours_are_parsed(text: str, shown: str) -> None:
    colour = read_colour(text)
    assert colour is not None
    assert colour.hex == shown
    assert read_colour(shown) == colour


@pytest.mark.parametrize(
    "text",
    ["", "#", "#12", "#12345", "fff", "rgb()", "rgb(1,2)", "rgb(a,b,c)", "hsl(1)", "redd"],
)
def test_invalid_colours_are_refused(text: str) -> None:
    assert read_colour(text) is None


def test_all_names_of_css_are_known() -> None:
    assert len(NAMED) == 148
