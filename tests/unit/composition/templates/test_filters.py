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


def test_the_documentation_names_every_filter() -> None:
    (line,) = (line for line in DOCS.read_text().splitlines() if line.startswith("- Filters of"))
    filters = line.partition(" Tags:")[0]
    assert set(re.findall(r"`(\w+)`", filters)) == _LIQUID.filters.keys()
