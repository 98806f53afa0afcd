"""Graphs of steps: who is before whom."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.pipelines.definition.graph import by_distance, in_cycles, in_order, upstream

DIAMOND = {"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": [], "e": []}


def test_upstream_contains_direct_and_indirect_needs() -> None:
    assert upstream(DIAMOND, "d") == {"a", "b", "c"}
    assert upstream(DIAMOND, "b") == {"a"}
    assert upstream(DIAMOND, "e") == set()


def test_upstream_is_ordered_by_distance() -> None:
    needs = {**DIAMOND, "f": ["a", "d"]}
    assert list(by_distance(needs, "f")) == [["a", "d"], ["b", "c"]]
    assert list(by_distance(needs, "e")) == []
    assert list(by_distance({"a": ["b"], "b": ["a"]}, "a")) == [["b"]]


def test_the_order_is_by_depth_then_by_key() -> None:
    assert in_order(DIAMOND) == ["a", "e", "b", "c", "d"]


@pytest.mark.parametrize(
    ("needs", "found"),
    [
        ({"a": ["a"]}, {"a"}),
        ({"a": ["b"], "b": ["a"], "c": ["a"], "d": []}, {"a", "b"}),
        (DIAMOND, set()),
    ],
)
def test_cycles_are_found(needs: dict[str, list[str]], found: set[str]) -> None:
    assert in_cycles(needs) == found


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40))
def test_an_order_puts_every_need_first(edges: list[tuple[int, int]]) -> None:
    needs: dict[str, set[str]] = {f"s{number}": set() for number in range(13)}
    for one, other in edges:
        if one != other:
            needs[f"s{max(one, other)}"].add(f"s{min(one, other)}")
    order = in_order(needs)
    assert sorted(order) == sorted(needs)
    assert all(order.index(need) < order.index(key) for key in needs for need in needs[key])
    assert not in_cycles(needs)
