"""What a step reads: merged windows, corrections of reviewers, its own window alone."""

from typing import Any

import pytest

from framekiln.pipelines.definition.predicate import evaluate
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.outputs.corrections import (
    Correction,
    ReviewedNamespaces,
    apply_corrections,
    check_correction,
)
from framekiln.pipelines.outputs.inputs import inputs_to_json, merge_windows, step_inputs
from framekiln.pipelines.outputs.model import Annotation, StepOutput
from tests.unit.pipelines.definitions import defined, endpoint, segment


def found(kind: str, start_ms: int = 0, end_ms: int | None = None, **more: Any) -> Annotation:
    end = start_ms if end_ms is None else end_ms
    return Annotation(kind=kind, start_ms=start_ms, end_ms=end, **more)


def kinds(outputs: dict[str, StepOutput]) -> dict[str, list[str]]:
    return {name: [each.kind for each in out.annotations] for name, out in outputs.items()}


REVIEW = {"type": "review", "needs": ["faces", "plates"]}
DEFINITION = defined(
    faces=[],
    plates=[],
    unseen=[],
    check=REVIEW,
    redact={"type": "redact_render", "needs": ["check", "unseen"], "with": {"kinds": ["face"]}},
    early=endpoint("faces"),
)
OUTPUTS = {
    "faces": StepOutput({"n": 2}, (found("face", 1), found("face", 2), found("hand", 3))),
    "plates": StepOutput({"n": 1}, (found("plate", 4), found("face", 5))),
    "unseen": StepOutput({}, (found("face", 6),)),
    "check": StepOutput({"decision": "approved"}),
}


@pytest.mark.spec("4.7")
def test_windows_are_merged() -> None:
    windows = [
        StepOutput({"count": 1, "first": True}, (found("a"), found("b"))),
        StepOutput({}, ()),
        StepOutput({"count": 2}, (found("c"),)),
    ]
    merged = merge_windows(windows)
    assert merged.metadata == {"count": 2, "first": True}
    assert [each.kind for each in merged.annotations] == ["a", "b", "c"]
    assert merge_windows([]) == StepOutput()


@pytest.mark.spec("4.7")
def test_a_filter_sees_the_merged_view() -> None:
    definition = defined(
        seg=segment(),
        f={
            "type": "filter",
            "needs": ["seg"],
            "when": {
                "all": [
                    {"path": "seg.metadata.count", "op": "eq", "value": 2},
                    {"path": "seg.annotations.1.kind", "op": "eq", "value": "b"},
                ]
            },
        },
    )
    when = definition.steps["f"].when
    assert when is not None
    windows = [StepOutput({"count": 1}, (found("a"),)), StepOutput({"count": 2}, (found("b"),))]
    for outputs, expected in ((windows, True), (windows[::-1], False)):
        merged = {"seg": merge_windows(outputs)}
        inputs = step_inputs(definition, "f", outputs=merged, corrections={})
        assert evaluate(when, inputs_to_json(inputs)) is expected


@pytest.mark.spec("4.7")
def test_a_step_reads_what_it_needs_directly_or_not() -> None:
    inputs = step_inputs(DEFINITION, "redact", outputs=OUTPUTS, corrections={})
    assert inputs == OUTPUTS
    assert list(step_inputs(DEFINITION, "early", outputs=OUTPUTS, corrections={})) == ["faces"]


@pytest.mark.spec("3.3")
def test_corrections_replace_what_the_reviewer_saw() -> None:
    correction = Correction(frozenset({"face"}), (found("face", 9),))
    inputs = step_inputs(DEFINITION, "redact", outputs=OUTPUTS, corrections={"check": correction})
    assert kinds(inputs) == {
        "faces": ["hand", "face"],
        "plates": ["plate"],
        "unseen": ["face"],
        "check": [],
    }
    assert inputs["faces"].annotations[1].start_ms == 9
    assert inputs["faces"].metadata == {"n": 2}


@pytest.mark.spec("3.3")
def test_steps_beside_the_review_see_no_corrections() -> None:
    correction = Correction(frozenset({"face"}))
    inputs = step_inputs(DEFINITION, "early", outputs=OUTPUTS, corrections={"check": correction})
    assert inputs == {"faces": OUTPUTS["faces"]}


def test_a_reviewed_kind_without_annotations_is_removed() -> None:
    correction = Correction(frozenset({"face", "plate"}))
    inputs = step_inputs(DEFINITION, "redact", outputs=OUTPUTS, corrections={"check": correction})
    assert kinds(inputs) == {"faces": ["hand"], "plates": [], "unseen": ["face"], "check": []}


def test_a_new_kind_is_attributed_to_the_review() -> None:
    correction = Correction(frozenset({"tattoo"}), (found("tattoo", 1),))
    inputs = step_inputs(DEFINITION, "redact", outputs=OUTPUTS, corrections={"check": correction})
    assert kinds(inputs)["check"] == ["tattoo"]
    assert inputs["check"].metadata == {"decision": "approved"}


def test_a_later_review_overrides_an_earlier_one() -> None:
    outputs = {"a": StepOutput({}, (found("face", 1),))}
    reviews = [
        ReviewedNamespaces(Correction(frozenset({"face"}), (found("face", 2),)), ("a",), "r1"),
        ReviewedNamespaces(Correction(frozenset({"face"}), (found("face", 3),)), ("a", "r1"), "r2"),
    ]
    corrected = apply_corrections(outputs, reviews)
    assert corrected["a"].annotations == (found("face", 3),)
    assert outputs["a"].annotations == (found("face", 1),)


@pytest.mark.spec("4.7")
def test_a_window_sees_only_its_own_annotations() -> None:
    definition = defined(a=segment(), b=segment("a"))
    output = StepOutput(
        {"n": 1}, (found("x", 0, 500), found("y", 900, 1100), found("z", 2000, 3000))
    )
    inputs = step_inputs(
        definition,
        "b",
        outputs={"a": output},
        corrections={},
        window=Window(1, 1000, 2000, 0),
    )
    assert kinds(inputs) == {"a": ["y"]}
    assert inputs["a"].metadata == {"n": 1}


def test_a_correction_is_read() -> None:
    value = {
        "annotations": [{"kind": "face", "start_ms": 0, "end_ms": 1}],
        "reviewed_kinds": ["plate"],
    }
    assert check_correction(value) == Correction(
        frozenset({"face", "plate"}), (found("face", 0, 1),)
    )
    assert check_correction({}) == Correction(frozenset())


@pytest.mark.parametrize(
    ("value", "path", "code"),
    [
        (None, "", "type"),
        ({"metadata": {}}, ".metadata", "unknown_field"),
        ({"annotations": None}, ".annotations", "type"),
        ({"annotations": [{"kind": "a", "start_ms": 0}]}, ".annotations.0.end_ms", "required"),
        ({"reviewed_kinds": "face"}, ".reviewed_kinds", "type"),
        ({"reviewed_kinds": ["a", "a"]}, ".reviewed_kinds.1", "duplicate"),
    ],
)
def test_invalid_corrections_are_reported(value: Any, path: str, code: str) -> None:
    issues = check_correction(value)
    assert isinstance(issues, list)
    assert [(each.path, each.code.value) for each in issues] == [(f"metadata_patch{path}", code)]
