"""The Liquid filters of templates."""

import re
from pathlib import Path

import pytest

from framekiln.composition.templates.budget import WorkBudget
from framekiln.composition.templates.liquid_engine import _LIQUID, parse

DOCS = Path(__file__).parents[4] / "docs/api/templates.md"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{{ text | slice: 0 }}", "f"),
        ("{{ text | slice: 1, 3 }}", "ram"),
        ("{{ text | slice: -2, 9 }}", "me"),
        ("{{ list | slice: 1, 2 | join: '-' }}", "2-3"),
    ],
)
def test_slice_gives_a_part_of_a_text_or_list(text: str, made: str) -> None:
    values = {"text": "frame", "list": [1, 2, 3]}
    assert parse(text).fill(values, WorkBudget(10_000)) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{{ flag | append: '!' }}", "true!"),
        ("{{ 'a' | append: flag }}", "atrue"),
        ("{{ mixed | join: ', ' }}", "true, , 1.5, false"),
        ("{{ flag | replace: 't', 'T' }}", "True"),
    ],
)
def test_filters_of_texts_print_booleans_and_null_as_liquid_does(text: str, made: str) -> None:
    values = {"flag": True, "mixed": [True, None, 1.5, [False]]}
    assert parse(text).fill(values, WorkBudget(10_000)) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{{ 2.5 | round }}", 3),
        ("{{ -2.5 | round }}", -3),
        ("{{ 2.675 | round: 2 }}", 2.68),
        ("{{ 7 | round: 2 }}", 7),
        ("{{ 25 | round: -1 }}", 30),
    ],
)
def test_halves_are_rounded_away_from_zero(text: str, made: float) -> None:
    assert parse(text).fill({}, WorkBudget(10_000)) == made


@pytest.mark.parametrize("value", [None, "", " "])
def test_no_date_is_an_empty_text(value: str | None) -> None:
    assert parse("{{ day | date: '%Y' }}").fill({"day": value}, WorkBudget(10_000)) == ""


def test_the_documentation_names_every_filter() -> None:
    (line,) = (line for line in DOCS.read_text().splitlines() if line.startswith("- Filters of"))
    filters = line.partition(" Tags:")[0]
    assert set(re.findall(r"`(\w+)`", filters)) == _LIQUID.filters.keys()
