"""What a step may leave behind, and what is refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.kit.canonical_json import canonical_json
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES, Annotation, BoxKeyframe, StepOutput
from framekiln.pipelines.outputs.validation import OutputRules, check_output

WINDOW = Window(1, 1000, 2000, 500)
BOX = {"t_ms": 0, "x": 0.25, "y": 0.25, "w": 0.5, "h": 0.75}


def issues_of(value: Any, **limits: Any) -> list[tuple[str, str]]:
    found = check_output(value, OutputRules(**limits))
    assert isinstance(found, list), found
    return [(issue.path, issue.code.value) for issue in found]


def annotated(**parts: Any) -> dict[str, Any]:
    return {"annotations": [{"kind": "face", "start_ms": 0, "end_ms": 1000, **parts}]}


@pytest.mark.spec("2.11")
def test_an_output_survives_a_round_trip() -> None:
    sent = {
        "metadata": {"found": True, "scores": [0.5, None, {"a": 1}]},
        "annotations": [
            {
                "kind": "face",
                "start_ms": 10,
                "end_ms": 40.5,
                "label": "left",
                "text": "",
                "confidence": 1,
                "track_id": 1,
                "keyframes": [{**BOX, "t_ms": 10}, {**BOX, "t_ms": 40.5}],
            },
            {"kind": "scene.cut", "start_ms": 7, "end_ms": 7},
        ],
    }
    output = check_output(sent, OutputRules(track_ids=[1, 2]))
    assert isinstance(output, StepOutput)
    assert output.to_json() == sent
    assert StepOutput.from_json(output.to_json()) == output
    assert output.annotations[0].keyframes == (
        BoxKeyframe(t_ms=10, x=0.25, y=0.25, w=0.5, h=0.75),
        BoxKeyframe(t_ms=40.5, x=0.25, y=0.25, w=0.5, h=0.75),
    )


@pytest.mark.parametrize("value", [{}, {"metadata": None}, {"annotations": None, "metadata": {}}])
@pytest.mark.spec("2.11")
def test_both_parts_are_optional(value: Any) -> None:
    assert check_output(value) == StepOutput()


def test_optional_fields_of_annotations_may_be_null() -> None:
    output = check_output(annotated(label=None, keyframes=None, track_id=None))
    assert output == StepOutput({}, (Annotation(kind="face", start_ms=0, end_ms=1000),))


@pytest.mark.spec("2.11")
def test_an_empty_list_of_keyframes_is_none() -> None:
    assert check_output(annotated(keyframes=[])) == check_output(annotated())


@pytest.mark.spec("2.11")
def test_unknown_fields_of_annotations_are_kept() -> None:
    sent = annotated(colour="red", more={"scores": [0.5, None]}, embedding=None)
    output = check_output(sent)
    assert isinstance(output, StepOutput)
    assert output.to_json()["annotations"] == sent["annotations"]
    assert StepOutput.from_json(output.to_json()) == output


def test_other_unknown_fields_are_ignored() -> None:
    known = annotated(keyframes=[BOX])
    sent = {**annotated(keyframes=[{**BOX, "score": 1}]), "model": {"name": "faces-2"}}
    assert check_output(sent) == check_output(known)


def test_an_output_without_any_known_field_is_refused() -> None:
    assert issues_of({"annotation": []}) == [("annotation", "unknown_field")]


@pytest.mark.parametrize(
    ("value", "path", "code"),
    [
        (None, "", "type"),
        ([], "", "type"),
        ({"result": 1}, "result", "unknown_field"),
        ({"metadata": []}, "metadata", "type"),
        ({"metadata": {"a": {"b": float("nan")}}}, "metadata.a.b", "out_of_range"),
        ({"metadata": {"a": [b"x"]}}, "metadata.a.0", "type"),
        ({"metadata": {"a": "\x00"}}, "metadata.a", "pattern"),
        ({"metadata": {"\x00": 1}}, "metadata.\x00", "pattern"),
        ({"metadata": {1: 1}}, "metadata.1", "type"),
        ({"annotations": {}}, "annotations", "type"),
        ({"annotations": [1]}, "annotations.0", "type"),
        ({"annotations": [{}] * 10_001}, "annotations", "too_many"),
        (annotated(kind=""), "annotations.0.kind", "empty"),
        (annotated(kind="k" * 129), "annotations.0.kind", "too_long"),
        (annotated(start_ms=-1), "annotations.0.start_ms", "out_of_range"),
        (annotated(start_ms="0"), "annotations.0.start_ms", "type"),
        (annotated(end_ms=None), "annotations.0.end_ms", "type"),
        (annotated(start_ms=1001), "annotations.0.end_ms", "out_of_range"),
        (annotated(label=5), "annotations.0.label", "type"),
        (annotated(confidence=1.1), "annotations.0.confidence", "out_of_range"),
        (annotated(track_id=1.5), "annotations.0.track_id", "type"),
        (annotated(colour="\x00"), "annotations.0.colour", "pattern"),
        (annotated(score=float("inf")), "annotations.0.score", "out_of_range"),
        (annotated(keyframes=[5]), "annotations.0.keyframes.0", "type"),
        (annotated(keyframes=[{**BOX, "x": 0.6}]), "annotations.0.keyframes.0.w", "out_of_range"),
        (annotated(keyframes=[{**BOX, "y": 0.3}]), "annotations.0.keyframes.0.h", "out_of_range"),
        (annotated(keyframes=[{**BOX, "x": -0.1}]), "annotations.0.keyframes.0.x", "out_of_range"),
        (annotated(keyframes=[{**BOX, "h": 1.1}]), "annotations.0.keyframes.0.h", "out_of_range"),
        (
            annotated(keyframes=[{**BOX, "t_ms": 1001}]),
            "annotations.0.keyframes.0.t_ms",
            "out_of_range",
        ),
        (annotated(keyframes=[BOX, BOX]), "annotations.0.keyframes.1.t_ms", "not_increasing"),
    ],
)
@pytest.mark.spec("8")
def test_invalid_outputs_are_reported(value: Any, path: str, code: str) -> None:
    assert issues_of(value) == [(path, code)]


def test_all_issues_are_found_at_once() -> None:
    value = {
        "metadata": {"a": b""},
        "annotations": [
            {"kind": "face", "start_ms": 5, "end_ms": 1},
            {"start_ms": 0, "end_ms": 2},
            {"kind": "x", "start_ms": 0, "end_ms": 1, "keyframes": [{"t_ms": 0, "x": 0, "y": 0}]},
        ],
    }
    assert issues_of(value) == [
        ("annotations.0.end_ms", "out_of_range"),
        ("annotations.1.kind", "required"),
        ("annotations.2.keyframes.0.h", "required"),
        ("annotations.2.keyframes.0.w", "required"),
        ("metadata.a", "type"),
    ]


@pytest.mark.parametrize(("x", "w"), [(0.1, 0.9), (1 / 3, 2 / 3), (0.5, 0.5 + 2**-52), (1, 0)])
def test_a_box_may_reach_the_edge(x: float, w: float) -> None:
    value = annotated(keyframes=[{"t_ms": 5, "x": x, "y": x, "w": w, "h": w}])
    assert isinstance(check_output(value), StepOutput)


@pytest.mark.spec("8")
def test_metadata_has_at_most_32_levels() -> None:
    deepest: Any = 1
    for _ in range(31):
        deepest = [deepest]
    assert isinstance(check_output({"metadata": {"a": deepest}}), StepOutput)
    assert issues_of({"metadata": {"a": [deepest]}}) == [("metadata.a" + ".0" * 31, "too_deep")]


def test_a_value_that_contains_itself_is_too_deep() -> None:
    value: dict[str, Any] = {}
    value["a"] = value
    assert issues_of({"metadata": value}) == [("metadata" + ".a" * 32, "too_deep")]


@pytest.mark.spec("8")
def test_an_output_has_at_most_one_mebibyte_of_canonical_json() -> None:
    empty_bytes = len(canonical_json({"metadata": {"a": ""}, "annotations": []}))
    room = MAX_OUTPUT_BYTES - empty_bytes
    assert isinstance(check_output({"metadata": {"a": "x" * room}}), StepOutput)
    assert issues_of({"metadata": {"a": "x" * (room + 1)}}) == [("", "too_large")]
    assert issues_of({"metadata": {"a": "é" * (room // 2 + 1)}}) == [("", "too_large")]


@pytest.mark.spec("8")
def test_ten_thousand_annotations_are_accepted() -> None:
    annotation = {"kind": "k", "start_ms": 0, "end_ms": 1}
    output = check_output({"annotations": [annotation] * 10_000})
    assert isinstance(output, StepOutput)
    assert len(output.annotations) == 10_000


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "wrong"),
    [
        (1000, 2000, []),
        (1500, 1500, []),
        (999, 1500, ["start_ms"]),
        (1500, 2000.5, ["end_ms"]),
        (600, 900, ["start_ms"]),
        (2500, 2600, ["end_ms"]),
    ],
)
@pytest.mark.spec("4.7")
def test_annotations_lie_inside_their_window(start_ms: Any, end_ms: Any, wrong: list[str]) -> None:
    found = check_output(annotated(start_ms=start_ms, end_ms=end_ms), OutputRules(WINDOW))
    issues = found if isinstance(found, list) else []
    assert [issue.path for issue in issues] == [f"annotations.0.{name}" for name in wrong]


def test_annotations_name_tracks_of_the_file() -> None:
    assert issues_of(annotated(track_id=3), track_ids=[1, 2]) == [
        ("annotations.0.track_id", "unknown_track")
    ]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just({1}),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["metadata", "annotations", "kind", "start_ms", "end_ms", "keyframes"])
            | st.text(max_size=2)
            | st.integers(),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(deadline=None, max_examples=100)
@given(ANYTHING)
def test_any_json_is_an_output_or_sorted_issues(value: Any) -> None:
    for whole in (value, {"metadata": value}, {"annotations": [value]}):
        found = check_output(whole, OutputRules(WINDOW))
        if isinstance(found, StepOutput):
            assert check_output(found.to_json(), OutputRules(WINDOW)) == found
        else:
            assert found == sorted(set(found))
