"""The scan of JSON: costly texts are found before they are parsed, others never refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.kit import json_scan
from framekiln.kit.json_scan import MAX_NUMBER_CHARS, NumberTooLong, TooManyValues, scan_json

TEXTS = st.text('[]{},"\\ax1', max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


def count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + (sum(map(count, inner)) if isinstance(value, dict | list) else 0)


@given(VALUES, st.sampled_from([1, 2, 3, 7, 1000]))
def test_the_estimate_is_never_too_low_and_at_most_twice_too_high(
    value: Any, slice_bytes: int
) -> None:
    raw = json.dumps(value).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_scan, "_SLICE_BYTES", slice_bytes)
        scan_json(raw, max_values=2 * count(value))
        if count(value) > 1:
            with pytest.raises(TooManyValues):
                scan_json(raw, max_values=count(value) - 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"[" + b"{}," * (4 << 20) + b"{}]",
        b"[" * (8 << 20),
        b"[" + b"0," * (8 << 20) + b"0]",
        b'"' * (8 << 20),
        b'{"a":["' + b"x" * (1 << 20) + b'"' + b",[]" * (2 << 20) + b"]}",
    ],
    ids=["objects", "depth", "numbers", "strings", "after a long string"],
)
def test_too_many_values_are_refused(raw: bytes) -> None:
    with pytest.raises(TooManyValues, match="more than 200000 values"):
        scan_json(raw)


def test_commas_in_strings_do_not_count() -> None:
    scan_json(json.dumps({"html": 'a,[{"\\' * 200_000}).encode(), max_values=3)


@pytest.mark.parametrize(
    "before", [b"[", b" " * ((256 << 10) - MAX_NUMBER_CHARS // 2)], ids=["start", "two slices"]
)
def test_long_numbers_are_refused(before: bytes) -> None:
    scan_json(before + b"9" * MAX_NUMBER_CHARS + b' , "' + b"9" * 5000 + b'"')
    with pytest.raises(NumberTooLong, match="a number of more than 1000 characters"):
        scan_json(before + b"9" * (MAX_NUMBER_CHARS + 1))
