"""When a filter's predicate holds, and which predicates are refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.pipelines.definition.predicate import Comparison, Not, Operator, evaluate
from framekiln.pipelines.definition.predicate_form import PredicateContext, PredicateField
from framekiln.pipelines.schema.issues import Location, ValidationIssue
from framekiln.pipelines.schema.records import read as read_as
from tests.unit.pipelines.definitions import predicates

VIEW = {
    "n": {
        "metadata": {
            "count": 3,
            "ratio": 0.5,
            "whole": 2.0,
            "yes": True,
            "none": None,
            "name": "night shift",
            "empty": "",
            "tags": ["red", 1, True, None],
            "deep": [{"a": [10, 20]}, {"0": "key"}],
            "nothing": {},
        },
        "annotations": [{"kind": "face", "start_ms": 0}, {"kind": "plate", "start_ms": 40}],
    }
}


def read(value: Any, namespaces: tuple[str, ...] = ("n",)) -> Any:
    issues: list[ValidationIssue] = []
    context = PredicateContext(namespaces=namespaces)
    kind: Any = PredicateField
    predicate = read_as(kind, value, Location(issues) / "when", context=context)
    return [(issue.path, issue.code.value) for issue in issues] if issues else predicate


def leaf(path: str, op: str, *value: Any) -> dict[str, Any]:
    return {"path": path, "op": op, **({"value": value[0]} if value else {})}


@pytest.mark.parametrize(
    ("path", "op", "value", "expected"),
    [
        ("count", "eq", 3, True),
        ("count", "eq", 3.0, True),
        ("whole", "eq", 2, True),
        ("count", "eq", "3", False),
        ("count", "ne", 4, True),
        ("count", "ne", 3.0, False),
        ("yes", "eq", True, True),
        ("yes", "eq", 1, False),
        ("yes", "ne", 1, True),
        ("yes", "gt", 0, False),
        ("none", "eq", None, True),
        ("none", "ne", None, False),
        ("tags", "eq", "red", False),
        ("tags", "ne", "red", True),
        ("count", "gt", 2.5, True),
        ("count", "gt", 3, False),
        ("count", "gte", 3, True),
        ("count", "lt", 3, False),
        ("count", "lte", 3, True),
        ("ratio", "lt", 1, True),
        ("name", "gt", 1, False),
        ("none", "lt", 1, False),
        ("count", "in", [1, 3.0], True),
        ("yes", "in", [1, "true"], False),
        ("none", "in", [None], True),
        ("tags", "in", ["red"], False),
        ("name", "contains", "shift", True),
        ("name", "contains", "day", False),
        ("name", "contains", 1, False),
        ("tags", "contains", "red", True),
        ("tags", "contains", "re", False),
        ("tags", "contains", 1.0, True),
        ("tags", "contains", 2, False),
        ("tags", "contains", None, True),
        ("count", "contains", 3, False),
        ("nothing", "contains", "a", False),
        ("deep.0.a.1", "eq", 20, True),
        ("deep.1.0", "eq", "key", True),
    ],
)
@pytest.mark.spec("4.7")
def test_operators_compare_with_a_value(path: str, op: str, value: Any, expected: bool) -> None:
    assert evaluate(read(leaf(f"n.metadata.{path}", op, value)), VIEW) is expected


@pytest.mark.parametrize(
    ("path", "exists", "non_empty"),
    [
        ("n.metadata.count", True, True),
        ("n.metadata.none", True, False),
        ("n.metadata.empty", True, False),
        ("n.metadata.nothing", True, False),
        ("n.metadata.missing", False, False),
        ("n.metadata.count.x", False, False),
        ("n.metadata.tags.0", True, True),
        ("n.metadata.tags.3", True, False),
        ("n.metadata.tags.4", False, False),
        ("n.metadata.tags.00", False, False),
        ("n.metadata.tags.first", False, False),
        ("n.annotations", True, True),
        ("n.annotations.1.kind", True, True),
        ("n.annotations.2.kind", False, False),
        ("other.annotations", False, False),
    ],
)
@pytest.mark.spec("2.11")
def test_exists_and_non_empty(path: str, exists: bool, non_empty: bool) -> None:
    namespaces = ("n", "other")
    assert evaluate(read(leaf(path, "exists"), namespaces), VIEW) is exists
    assert evaluate(read(leaf(path, "non_empty"), namespaces), VIEW) is non_empty


@pytest.mark.spec("2.11")
@pytest.mark.parametrize("op", ["exists", "non_empty"])
@pytest.mark.parametrize("value", [None, True, {"any": "thing"}])
def test_a_value_is_ignored_where_the_operator_takes_none(op: str, value: Any) -> None:
    assert read(leaf("n.metadata.count", op, value)) == read(leaf("n.metadata.count", op))


def test_zero_and_false_are_non_empty() -> None:
    view = {"n": {"metadata": {"zero": 0, "no": False}}}
    assert all(evaluate(read(leaf(f"n.metadata.{x}", "non_empty")), view) for x in ("zero", "no"))


@pytest.mark.parametrize("op", [op for op in Operator if op not in ("exists", "non_empty")])
@pytest.mark.spec("4.7")
def test_a_missing_path_is_false(op: Operator) -> None:
    value: Any = (1,) if op is Operator.IN else 1
    nowhere = Comparison(("n", "metadata", "missing"), op, value)
    assert not evaluate(nowhere, VIEW)
    assert evaluate(Not(nowhere), VIEW)


@pytest.mark.parametrize(
    ("parts", "all_hold", "any_holds"),
    [("t", True, True), ("f", False, False), ("tt", True, True), ("tf", False, True)],
)
def test_all_any_and_not_are_combined(parts: str, all_hold: bool, any_holds: bool) -> None:
    leaves = [leaf("n.metadata.count", "eq", 3 if part == "t" else 4) for part in parts]
    assert evaluate(read({"all": leaves}), VIEW) is all_hold
    assert evaluate(read({"any": leaves}), VIEW) is any_holds


@settings(deadline=None, max_examples=50)
@given(predicates(["n"]))
@pytest.mark.spec("4.7")
def test_of_two_complementary_predicates_one_holds(when: dict[str, Any]) -> None:
    assert evaluate(read(when), VIEW) is not evaluate(read({"not": when}), VIEW)


GOOD = leaf("n.metadata.a", "exists")


@pytest.mark.parametrize(
    ("value", "path", "code"),
    [
        (None, "", "type"),
        ([GOOD], "", "type"),
        ({"all": GOOD}, ".all", "type"),
        ({"all": []}, ".all", "empty"),
        ({"any": [GOOD] * 17}, ".any", "too_many"),
        ({"all": [GOOD], "any": [GOOD]}, ".any", "unknown_field"),
        ({"not": GOOD, "path": "n.metadata.a"}, ".path", "unknown_field"),
        ({"not": {"not": {"not": {"not": GOOD}}}}, ".not.not.not.not", "too_deep"),
        ({"all": [{"any": [{"all": [{"any": [GOOD]}]}]}]}, ".all.0.any.0.all.0.any.0", "too_deep"),
        ({**GOOD, "extra": 1}, ".extra", "unknown_field"),
        ({"op": "exists"}, ".path", "required"),
        ({"path": "n.metadata.a"}, ".op", "required"),
        ({"path": "n.metadata.a", "op": 1}, ".op", "type"),
        ({"path": "n.metadata.a", "op": "like"}, ".op", "unknown_operator"),
        (leaf("", "exists"), ".path", "empty"),
        (leaf("n", "exists"), ".path", "pattern"),
        (leaf("n.metadata", "exists"), ".path", "pattern"),
        (leaf("n.metadata.", "exists"), ".path", "pattern"),
        (leaf("n.metadata..a", "exists"), ".path", "pattern"),
        (leaf("n.other.a", "exists"), ".path", "pattern"),
        (leaf("n.annotations.kind", "exists"), ".path", "pattern"),
        (leaf("N.metadata.a", "exists"), ".path", "pattern"),
        (leaf("n.metadata" + ".a" * 15, "exists"), ".path", "too_many"),
        (leaf("n.metadata." + "a" * 1024, "exists"), ".path", "too_long"),
        (leaf("m.metadata.a", "exists"), ".path", "not_upstream"),
        ({"path": ["n", "metadata"], "op": "exists"}, ".path", "type"),
        (leaf("n.metadata.a", "eq"), ".value", "required"),
        (leaf("n.metadata.a", "eq", [1]), ".value", "type"),
        (leaf("n.metadata.a", "ne", {}), ".value", "type"),
        (leaf("n.metadata.a", "eq", "x" * 1025), ".value", "too_long"),
        (leaf("n.metadata.a", "eq", float("nan")), ".value", "out_of_range"),
        (leaf("n.metadata.a", "eq", 10**400), ".value", "out_of_range"),
        (leaf("n.metadata.a", "eq", "\x00"), ".value", "pattern"),
        (leaf("n.metadata.a", "gt", "5"), ".value", "type"),
        (leaf("n.metadata.a", "lte", True), ".value", "type"),
        (leaf("n.metadata.a", "gte", None), ".value", "type"),
        (leaf("n.metadata.a", "in", 1), ".value", "type"),
        (leaf("n.metadata.a", "in", []), ".value", "empty"),
        (leaf("n.metadata.a", "in", [1] * 65), ".value", "too_many"),
        (leaf("n.metadata.a", "in", [1, [2]]), ".value.1", "type"),
        (leaf("n.metadata.a", "contains", ["x"]), ".value", "type"),
    ],
)
@pytest.mark.spec("8")
def test_invalid_predicates_are_reported(value: Any, path: str, code: str) -> None:
    assert read(value) == [(f"when{path}", code)]


@pytest.mark.parametrize(
    "value",
    [
        {"not": {"not": {"not": GOOD}}},
        {"all": [GOOD] * 16},
        leaf("n.metadata" + ".a" * 14, "exists"),
        leaf("n.metadata.a", "eq", "x" * 1024),
        leaf("n.metadata.a", "eq", ""),
        leaf("n.metadata.a", "in", list(range(64))),
        leaf("n.annotations", "non_empty"),
    ],
)
@pytest.mark.spec("8")
def test_the_size_of_predicates_is_limited(value: Any) -> None:
    assert not isinstance(read(value), list)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=30))
def test_any_path_is_evaluated_or_rejected(path: str) -> None:
    answer = read(leaf(path, "exists"))
    assert isinstance(answer, list) or evaluate(answer, VIEW) in (True, False)
