"""An index may only point at what was uploaded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.files.errors import InvalidIndex
from framekiln.files.fragment_index import bytes_needed, check_index, index_facts

SIZES = {"1": 1000, "2": 500}


def entry(track: int, /, **changes: Any) -> dict[str, Any]:
    segment = {"cts": -5, "dts": 0, "duration": 48_000, "offset": 100, "size": 400}
    return {
        "track": track,
        "type": "video" if track == 1 else "audio",
        "timescale": 48_000,
        "duration": 96_000 * track,
        "initSegment": {"offset": 0, "size": 100},
        "segments": [segment],
        "something_new": [1, "2"],
        **changes,
    }


def test_a_valid_index_is_unchanged() -> None:
    index = {"1": entry(1, width=320, height=240), "2": entry(2)}
    assert check_index(json.dumps(index).encode(), SIZES) == index
    assert index_facts(index) == {"width": 320, "height": 240, "duration_ms": 4000}


def test_a_late_track_ends_later_than_it_is_long() -> None:
    late = {"cts": 120_000, "dts": 0, "duration": 96_000, "offset": 100, "size": 400}
    index = {"1": entry(1, segments=[late]), "2": entry(2)}
    assert index_facts(index)["duration_ms"] == 4500


def test_a_scrub_track_that_was_not_uploaded_is_dropped() -> None:
    index = {"-1": entry(-1), "2": entry(2)}
    assert set(check_index(json.dumps(index).encode(), SIZES)) == {"2"}
    assert index_facts({"2": entry(2)}) == {"width": None, "height": None, "duration_ms": 4000}


def test_an_index_may_wait_for_missing_tracks() -> None:
    index = {"1": entry(1), "7": entry(7)}
    raw = json.dumps(index).encode()
    assert check_index(raw, SIZES, may_wait=True) == index
    assert bytes_needed(index["7"]) == 500
    with pytest.raises(InvalidIndex, match="'7', which has not been uploaded"):
        check_index(raw, SIZES)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["track", "type", "timescale", "duration", "initSegment", "segments"]))
def test_any_value_is_refused_or_within_bounds(value: Any, field: str) -> None:
    raw = json.dumps({"1": entry(1, **{field: value})}).encode()
    try:
        index = check_index(raw, SIZES)
    except InvalidIndex:
        return
    index_facts(index)
    for span in (index["1"]["initSegment"], *index["1"]["segments"]):
        assert 0 <= span["offset"] < span["offset"] + span["size"] <= 1000


@given(st.binary(max_size=50))
def test_any_bytes_are_refused(raw: bytes) -> None:
    with pytest.raises(InvalidIndex):
        check_index(raw, SIZES)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InvalidIndex):
        check_index(b"[" * 100_000, SIZES)
