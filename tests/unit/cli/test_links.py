"""Durations of `framekiln link`."""

import pytest

from framekiln.cli.links import parse_duration_s
from framekiln.kit.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "d", "1.5h", "-1d", "1y", "7 days", "1234567890d"])
def test_other_durations_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="as in 7d"):
        parse_duration_s(text)
