"""The name that was probably meant."""

import pytest

from framekiln.kit.suggestions import did_you_mean, nearest_name

FIELDS = ("duration_ms", "width", "height", "fps", "html")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("durationMs", "duration_ms"),
        ("DURATION_MS", "duration_ms"),
        ("widht", "width"),
        ("fsp", None),
        ("fp", "fps"),
        ("background", None),
        ("x", None),
        ("", None),
        ("html" * 1000, None),
    ],
)
def test_the_nearest_name_is_few_letters_away(written: str, meant: str | None) -> None:
    assert nearest_name(written, FIELDS) == meant
    assert did_you_mean(written, FIELDS) == (f"did you mean {meant}?" if meant else None)


def test_without_known_names_nothing_is_suggested() -> None:
    assert nearest_name("width", ()) is None
