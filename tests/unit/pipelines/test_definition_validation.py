"""Every issue of a definition is found, with its path; nothing is ever raised."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.kit.canonical_json import canonical_json
from framekiln.pipelines.definition.model import Definition, Segmentation
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue
from framekiln.pipelines.steps import STEP_TYPES
from tests.unit.pipelines.definitions import ENDPOINT_ID, definitions, endpoint, filter_on

PROBE: dict[str, Any] = {"type": "probe"}
WHEN = {"path": "p.metadata.a", "op": "exists"}


def issues_of(value: Any) -> list[tuple[str, str]]:
    found = validate(value, STEP_TYPES)
    assert isinstance(found, list)
    return [(issue.path, issue.code.value) for issue in found]


def issues_in(**steps: Any) -> list[tuple[str, str]]:
    return issues_of({"steps": steps})


@pytest.mark.spec("2.11")
def test_a_definition_is_read_with_its_defaults() -> None:
    definition = validate(
        {
            "steps": {
                "show": {"type": "publish", "needs": ["ok"]},
                "ok": {"type": "review", "needs": ["cut", "look"], "namespace": "decision"},
                "look": {"type": "sample_frames"},
                "cut": {
                    "type": "detect_scenes",
                    "granularity": {"mode": "segment", "window_ms": 5000.0},
                },
            }
        },
        STEP_TYPES,
    )
    assert isinstance(definition, Definition)
    assert list(definition.steps) == ["cut", "look", "ok", "show"]
    cut, review = definition.steps["cut"], definition.steps["ok"]
    assert (cut.segmentation, cut.namespace) == (Segmentation(5000, 0), "cut")
    assert (review.needs, review.namespace) == (("cut", "look"), "decision")
    assert [step.key for step in definition.upstream("show")] == ["cut", "look", "ok"]
    assert vars(review.settings) == {
        "instructions": None,
        "expires_after_ms": 604_800_000,
        "on_expiry": "fail",
    }


@pytest.mark.spec("7")
def test_all_issues_are_found_at_once() -> None:
    definition = {
        "extra": 1,
        "steps": {
            "Bad": {"type": "probe", "with": {}},
            "a": {"type": "sample_frames", "with": {"every_ms": 99, "other": 1}, "needs": ["b"]},
            "b": {"type": "publish", "with": {"formats": []}, "needs": ["a"], "when": {}},
            "c": {"type": "endpoint", "namespace": "a", "needs": ["nobody"]},
            "d": {"type": "nonsense"},
            "e": 5,
            "f": {"type": "filter", "when": {"path": "a.metadata.x", "op": "near"}},
        },
    }
    assert issues_of(definition) == [
        ("extra", "unknown_field"),
        ("steps.Bad", "pattern"),
        ("steps.Bad.with", "not_allowed"),
        ("steps.a.needs", "cycle"),
        ("steps.a.with.every_ms", "out_of_range"),
        ("steps.a.with.other", "unknown_field"),
        ("steps.b.needs", "cycle"),
        ("steps.b.when", "not_allowed"),
        ("steps.b.with.formats", "empty"),
        ("steps.c.namespace", "duplicate"),
        ("steps.c.needs.0", "unknown_step"),
        ("steps.c.with.endpoint_id", "required"),
        ("steps.d.type", "unknown_type"),
        ("steps.e", "type"),
        ("steps.f.when.op", "unknown_operator"),
        ("steps.f.when.path", "not_upstream"),
    ]


@pytest.mark.parametrize(
    ("value", "issue"),
    [
        (None, ("", "type")),
        ([], ("", "type")),
        ({}, ("steps", "required")),
        ({"steps": []}, ("steps", "type")),
        ({"steps": None}, ("steps", "type")),
        ({"steps": {}}, ("steps", "empty")),
        ({"steps": {f"s{n}": PROBE for n in range(65)}}, ("steps", "too_many")),
        ({"steps": {"a": PROBE}, "name": "x"}, ("name", "unknown_field")),
        ({"steps": {"": PROBE}}, ("steps.", "pattern")),
        ({"steps": {"a" * 64: PROBE}}, (f"steps.{'a' * 64}", "pattern")),
        ({"steps": {"a\n": PROBE}}, ("steps.a\n", "pattern")),
        ({"steps": {"1a": PROBE}}, ("steps.1a", "pattern")),
        ({"steps": {7: PROBE}}, ("steps.7", "type")),
    ],
)
@pytest.mark.spec("8")
def test_a_definition_is_an_object_with_steps(value: Any, issue: tuple[str, str]) -> None:
    assert issues_of(value) == [issue]


@pytest.mark.spec("8")
def test_the_largest_definition_is_accepted() -> None:
    steps = {f"{'s' * 60}{n}": PROBE for n in range(64)}
    assert isinstance(validate({"steps": steps}, STEP_TYPES), Definition)


@pytest.mark.parametrize(
    ("step", "path", "code"),
    [
        ({}, "type", "required"),
        ({"type": None}, "type", "type"),
        ({"type": "PROBE"}, "type", "unknown_type"),
        ({"type": "probe", "key": "a"}, "key", "unknown_field"),
        ({"type": "probe", "needs": None}, "needs", "type"),
        ({"type": "probe", "needs": "p"}, "needs", "type"),
        ({"type": "probe", "needs": [1]}, "needs.0", "type"),
        ({"type": "probe", "needs": ["p", "p"]}, "needs.1", "duplicate"),
        ({"type": "probe", "needs": ["p"] * 17}, "needs", "too_many"),
        ({"type": "probe", "needs": ["a"]}, "needs", "cycle"),
        ({"type": "probe", "namespace": "A"}, "namespace", "pattern"),
        ({"type": "probe", "namespace": None}, "namespace", "type"),
        ({"type": "probe", "namespace": "p"}, "namespace", "duplicate"),
        ({"type": "probe", "granularity": None}, "granularity", "type"),
        ({"type": "probe", "granularity": {}}, "granularity.mode", "required"),
        ({"type": "probe", "granularity": {"mode": "all"}}, "granularity.mode", "unknown_value"),
        ({"type": "filter", "needs": ["p"]}, "when", "required"),
        ({"type": "probe", "when": WHEN}, "when", "not_allowed"),
        ({"type": "filter", "needs": ["p"], "when": WHEN, "with": {}}, "with", "not_allowed"),
        ({"type": "transcribe", "with": {}}, "with", "not_allowed"),
        ({"type": "publish", "with": None}, "with", "type"),
    ],
)
@pytest.mark.spec("2.11")
def test_invalid_steps_are_reported_with_path_and_code(
    step: dict[str, Any], path: str, code: str
) -> None:
    assert issues_in(p=PROBE, a=step) == [(f"steps.a.{path}", code)]


SEGMENT_TYPES = ["transcribe", "sample_frames", "detect_scenes", "endpoint"]


@pytest.mark.parametrize("kind", ["probe", "redact_render", "publish", "filter", "review"])
@pytest.mark.spec("4.7")
def test_only_some_types_work_on_windows(kind: str) -> None:
    granularity = {"mode": "segment", "window_ms": 1000}
    assert ("steps.a.granularity.mode", "not_allowed") in issues_in(
        a={"type": kind, "granularity": granularity}
    )


@pytest.mark.parametrize(
    ("granularity", "path", "code"),
    [
        ({"window_ms": None}, "window_ms", "type"),
        ({"window_ms": 999}, "window_ms", "out_of_range"),
        ({"window_ms": 3_600_001}, "window_ms", "out_of_range"),
        ({"window_ms": 1000.5}, "window_ms", "type"),
        ({"window_ms": True}, "window_ms", "type"),
        ({"window_ms": 1000, "overlap_ms": 501}, "overlap_ms", "out_of_range"),
        ({"window_ms": 1001, "overlap_ms": 501}, "overlap_ms", "out_of_range"),
        ({"window_ms": 1000, "overlap_ms": -1}, "overlap_ms", "out_of_range"),
        ({"window_ms": 1000, "step_ms": 1}, "step_ms", "unknown_field"),
        ({"mode": "file", "window_ms": 1000}, "window_ms", "not_allowed"),
        ({"mode": "file", "overlap_ms": 0}, "overlap_ms", "not_allowed"),
        ({}, "window_ms", "required"),
    ],
)
@pytest.mark.spec("4.7")
def test_invalid_windows_are_reported(granularity: dict[str, Any], path: str, code: str) -> None:
    step = {"type": "transcribe", "granularity": {"mode": "segment", **granularity}}
    assert issues_in(a=step) == [(f"steps.a.granularity.{path}", code)]


@pytest.mark.parametrize("kind", SEGMENT_TYPES)
@pytest.mark.parametrize(("window_ms", "overlap_ms"), [(1000, 500), (3_600_000, 1_800_000)])
@pytest.mark.spec("8")
def test_windows_at_the_limits_are_accepted(kind: str, window_ms: int, overlap_ms: int) -> None:
    granularity = {"mode": "segment", "window_ms": window_ms, "overlap_ms": overlap_ms}
    settings = {"with": {"endpoint_id": ENDPOINT_ID}} if kind == "endpoint" else {}
    definition = validate(
        {"steps": {"a": {"type": kind, "granularity": granularity, **settings}}}, STEP_TYPES
    )
    assert isinstance(definition, Definition)
    assert definition.steps["a"].segmentation == Segmentation(window_ms, overlap_ms)


@pytest.mark.spec("2.11")
def test_only_steps_on_a_cycle_are_blamed_for_it() -> None:
    found = issues_in(a=endpoint("b"), b=endpoint("c"), c=endpoint("a"), d=endpoint("a"), e=PROBE)
    assert found == [(f"steps.{key}.needs", "cycle") for key in "abc"]


def test_duplicate_namespaces_are_reported() -> None:
    assert issues_in(a={**PROBE, "namespace": "b"}, b=PROBE) == [("steps.a.namespace", "duplicate")]
    clash = {**PROBE, "namespace": "n"}
    assert issues_in(b=clash, a=clash, c=clash) == [
        ("steps.b.namespace", "duplicate"),
        ("steps.c.namespace", "duplicate"),
    ]


def test_two_steps_may_swap_their_namespaces() -> None:
    steps = {"a": {**PROBE, "namespace": "b"}, "b": {**PROBE, "namespace": "a"}}
    assert isinstance(validate({"steps": steps}, STEP_TYPES), Definition)


@pytest.mark.spec("4.7")
def test_a_filter_reads_only_what_it_needs() -> None:
    steps = {"p": PROBE, "q": PROBE, "r": endpoint("p"), "f": filter_on("r")}
    assert isinstance(validate({"steps": steps}, STEP_TYPES), Definition)
    steps["f"]["when"] = {"all": [{"path": f"{n}.metadata.x", "op": "exists"} for n in "pqfz"]}
    assert issues_of({"steps": steps}) == [
        (f"steps.f.when.all.{index}.path", "not_upstream") for index in (1, 2, 3)
    ]


def test_a_path_names_a_namespace_and_not_a_key() -> None:
    steps = {"p": {**PROBE, "namespace": "facts"}, "f": filter_on("p")}
    assert issues_of({"steps": steps}) == [("steps.f.when.path", "not_upstream")]
    steps["f"]["when"]["path"] = "facts.metadata.width"
    assert isinstance(validate({"steps": steps}, STEP_TYPES), Definition)


JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["a", "probe", "filter", "\ud800", "a.metadata.b", 10**400, b"x", {1}]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "steps",
                    "type",
                    "needs",
                    "with",
                    "when",
                    "all",
                    "any",
                    "not",
                    "path",
                    "op",
                    "value",
                ]
            )
            | st.text(max_size=3)
            | st.integers()
            | st.just("\ud800")
            | st.just(10**400),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


def test_a_number_that_python_cannot_write_is_refused() -> None:
    number = 10**5000
    assert issues_in(a={"type": "sample_frames", "with": {"every_ms": number}}) == [
        ("steps.a.with.every_ms", "out_of_range")
    ]
    assert issues_of({"steps": {"a": PROBE, number: PROBE}}) == [("steps.int", "type")]


@settings(deadline=None, max_examples=100)
@given(JSON_LIKE)
def test_any_json_is_validated_without_an_exception(value: Any) -> None:
    for whole in (value, {"steps": value}, {"steps": {"a": value}}):
        check_answer(validate(whole, STEP_TYPES))


@settings(deadline=None, max_examples=100)
@given(definitions(max_steps=4), st.data())
def test_any_part_may_be_replaced_by_anything(definition: dict[str, Any], data: Any) -> None:
    spoilt = deepcopy(definition)
    target: Any = spoilt
    while True:
        key = data.draw(
            st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target)))
        )
        inner = target[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        target = inner
    target[key] = data.draw(JSON_LIKE)
    check_answer(validate(spoilt, STEP_TYPES))


def check_answer(answer: Definition | list[ValidationIssue]) -> None:
    if isinstance(answer, list):
        assert answer
        assert answer == sorted(set(answer))
        assert all(issue.code in IssueCode for issue in answer)
        # It can be sent to the caller.
        canonical_json([issue.path for issue in answer])
