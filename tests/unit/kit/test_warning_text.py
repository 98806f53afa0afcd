"""Warnings keep their codes when they are copied and stored."""

import json
from copy import deepcopy

from framekiln.kit.warning_text import (
    WarningText,
    codes_by_text,
    reworded,
    warnings_as_json,
    warnings_from_json,
)

WARNING = WarningText("font_missing", "the font Lato is not installed")


def test_a_warning_is_its_text() -> None:
    assert WARNING == "the font Lato is not installed"
    assert list(dict.fromkeys([WARNING, str(WARNING)])) == [WARNING]


def test_copies_and_records_keep_codes() -> None:
    assert deepcopy(WARNING).code == "font_missing"
    record = json.loads(json.dumps(warnings_as_json([WARNING, "plain"])))
    assert record["warnings"] == [str(WARNING), "plain"]
    restored = warnings_from_json(record)
    assert codes_by_text(restored) == {str(WARNING): "font_missing"}
    assert restored == (WARNING, "plain")


def test_records_of_older_versions_have_no_codes() -> None:
    assert codes_by_text(warnings_from_json({"warnings": ["old"]})) == {}
    assert warnings_from_json(None) == warnings_from_json({}) == ()


def test_other_words_have_the_same_code() -> None:
    assert codes_by_text([reworded(WARNING, "p: x"), reworded("plain", "y")]) == {
        "p: x": "font_missing"
    }
