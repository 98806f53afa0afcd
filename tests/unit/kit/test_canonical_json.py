import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.kit.canonical_json import canonical_json, sha256_digest

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def test_sorts_keys_at_every_depth_and_leaves_out_spaces() -> None:
    value = {"b": [1, {"z": None, "a": True}], "a": 0.5}
    assert canonical_json(value) == b'{"a":0.5,"b":[1,{"a":true,"z":null}]}'


def test_writes_text_as_utf_8() -> None:
    assert canonical_json({"name": "Zoë 🎬"}) == '{"name":"Zoë 🎬"}'.encode()


def test_keeps_the_order_of_lists() -> None:
    assert canonical_json([3, 1, 2]) == b"[3,1,2]"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_refuses_nan_and_infinity(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json({"n": number})


def test_refuses_values_without_a_json_form() -> None:
    with pytest.raises(TypeError, match="set"):
        canonical_json({"n": {1, 2}})


@given(VALUES)
def test_canonical_json_parses_to_the_same_value(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(TEXT, VALUES, max_size=6), st.randoms(use_true_random=False))
def test_the_order_in_which_keys_were_set_does_not_matter(value: dict[str, Any], rng: Any) -> None:
    items = list(value.items())
    rng.shuffle(items)
    assert canonical_json(dict(items)) == canonical_json(value)


def test_the_digest_is_that_of_the_canonical_bytes() -> None:
    expected = hashlib.sha256(b'{"a":1,"b":2}').hexdigest()
    assert sha256_digest({"b": 2, "a": 1}) == f"sha256:{expected}"


def test_different_values_have_different_digests() -> None:
    values: list[Any] = [None, False, 0, "", [], {}, {"a": 1}, {"a": "1"}, {"a": [1]}, {"b": 1}]
    assert len({sha256_digest(value) for value in values}) == len(values)
