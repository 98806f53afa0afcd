"""Input that is nearly valid: seeds with random changes."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

# Numbers at which lengths, counts and offsets go wrong.
EDGES = (0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
SURROGATES = "\ud800\udfff"
JSON_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10),
    st.sampled_from([*EDGES, 2**53, 2**63, 2**64, 10**400, -1, 1e308, -1e-308, 0.5, -0.0]),
    st.sampled_from(["", "a", "0", "-1", "true", "null", "../x", "\0", "\ud800", "é", "a" * 300]),
    st.text(max_size=6),
)


@st.composite
def changed_bytes(draw: st.DrawFn, seeds: Sequence[bytes], most_changes: int = 6) -> bytes:
    """Draw a seed with a few changes; sometimes none, sometimes nothing of it is left."""
    data = bytearray(draw(st.sampled_from(seeds) | st.binary(max_size=64)))
    for _ in range(draw(st.integers(0, most_changes))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.integers(0, 5)):
            case 0:
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case 1:
                width = draw(st.sampled_from([1, 2, 4, 8]))
                value = draw(st.sampled_from(EDGES)) % (1 << 8 * width)
                data[at : at + width] = value.to_bytes(width, "big")
            case 2:
                data[at:at] = draw(st.binary(max_size=8))
            case 3:
                del data[at : at + draw(st.integers(1, 64))]
            case 4:
                # A part of it, once more.
                start = draw(st.integers(0, max(0, len(data) - 1)))
                data[at:at] = data[start : start + draw(st.integers(1, 200))]
            case _:
                del data[at:]
    return bytes(data)


@st.composite
def changed_text(draw: st.DrawFn, seeds: Sequence[str], words: Sequence[str] = ()) -> str:
    """Draw a seed with a few of `words`, or any characters, put into it."""
    text = draw(st.sampled_from(seeds) | st.text(max_size=40))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(text)))
        gone = draw(st.sampled_from([0, 0, 1, 3, 20]))
        new = draw(st.sampled_from([*words, "", "\0", "\ud800"]) | st.text(max_size=8))
        text = text[:at] + new * draw(st.sampled_from([1, 1, 2, 50])) + text[at + gone :]
    return text


def any_json(names: Sequence[str] = ("a", "b")) -> st.SearchStrategy[Any]:
    """Draw any JSON; its objects have fields of these names."""
    keys = st.sampled_from([*names, "", "__proto__", "\ud800"])
    return st.recursive(
        JSON_LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=12,
    )


@st.composite
def changed_json(draw: st.DrawFn, seeds: Sequence[Any], names: Sequence[str] = ()) -> Any:
    """Draw a seed in which some values are replaced by anything, or fields are added."""
    value = deepcopy(draw(st.sampled_from(list(seeds))))
    for _ in range(draw(st.integers(0, 4))):
        places = [place for place in _places(value) if place]
        if not places:
            return draw(any_json(names))
        *above, last = draw(st.sampled_from(places))
        target = value
        for key in above:
            target = target[key]
        target[last] = draw(any_json(names))
        if isinstance(target, dict) and draw(st.booleans()):
            target[draw(st.sampled_from([*names, "extra"]))] = draw(any_json(names))
    return value


def json_bytes(value: Any) -> bytes:
    """Return JSON as a client may send it, broken text included."""
    return json.dumps(value).encode()


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        found += _places(inner, (*path, key))
    return found
