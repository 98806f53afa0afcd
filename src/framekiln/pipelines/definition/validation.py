"""Reads a definition from JSON and collects every issue; `schema.issues.IssueCode` has the codes.

Two passes: needs and namespaces of all steps first, since a filter may only ask namespaces of steps
it needs; then each step in full. Any Python value may come in, and nothing is ever raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from framekiln.pipelines.definition import graph
from framekiln.pipelines.definition.model import Definition, Segmentation, Step, StepSettings
from framekiln.pipelines.definition.predicate import Predicate
from framekiln.pipelines.definition.predicate_reader import PredicateReader
from framekiln.pipelines.definition.step_rules import StepRules, TypedGraph
from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, sorted_issues
from framekiln.pipelines.schema.names import STEP_NAME
from framekiln.pipelines.schema.records import read_record, report_unknown
from framekiln.pipelines.schema.shapes import OneOf, SetOf, WholeNumber

MAX_STEPS = 64
MAX_NEEDS = 16
WINDOW_MS = WholeNumber(1000, 3_600_000)

_STEP_FIELDS = frozenset({"type", "needs", "namespace", "granularity", "with", "when"})
_GRANULARITY_FIELDS = frozenset({"mode", "window_ms", "overlap_ms"})
_MODE = OneOf(("file", "segment"))


def validate(value: Any, types: Mapping[str, StepRules]) -> Definition | list[ValidationIssue]:
    """Return the definition that is written in `value`, or all that is wrong with it."""
    issues: list[ValidationIssue] = []
    steps = _read_steps(value, types, Location(issues))
    if issues:
        return sorted_issues(issues)
    needs = {key: step.needs for key, step in steps.items()}
    return Definition({key: steps[key] for key in graph.in_order(needs)})


@dataclass(frozen=True)
class _StepHeader:
    """What the other steps must know of a step."""

    needs: tuple[str, ...]
    namespace: str


def _read_steps(value: Any, types: Mapping[str, StepRules], place: Location) -> dict[str, Step]:
    raw_steps = _raw_steps(value, place)
    place /= "steps"
    outlines = _read_headers(raw_steps, place)
    for key in graph.in_cycles(_needs(outlines)):
        (place / key / "needs").report(IssueCode.CYCLE)
    _check_namespaces(outlines, place)
    kinds = _read_types(raw_steps, types, place)
    read = {
        key: _read_step(key, raw_steps[key], outlines, kind=kinds.get(key), place=place)
        for key in raw_steps
    }
    steps = {key: step for key, step in read.items() if step is not None}
    typed = TypedGraph(_needs(outlines), kinds)
    for key, step in steps.items():
        kinds[key].check(step, typed, place / key)
    return steps


def _raw_steps(value: Any, place: Location) -> dict[str, Any]:
    """Return the steps under keys that are texts, not looked into."""
    if not isinstance(value, dict):
        place.report(IssueCode.TYPE)
        return {}
    report_unknown(value, {"steps"}, place)
    place /= "steps"
    if "steps" not in value:
        place.report(IssueCode.REQUIRED)
        return {}
    steps = value["steps"]
    if not isinstance(steps, dict):
        place.report(IssueCode.TYPE)
        return {}
    if not 1 <= len(steps) <= MAX_STEPS:
        place.report(IssueCode.TOO_MANY if steps else IssueCode.EMPTY)
        return {}
    for key in steps:
        STEP_NAME.read(key, place / key)
    return {key: raw for key, raw in steps.items() if isinstance(key, str)}


def _read_headers(raw_steps: Mapping[str, Any], place: Location) -> dict[str, _StepHeader]:
    needs_shape = SetOf(OneOf(raw_steps, IssueCode.UNKNOWN_STEP), minimum=0, maximum=MAX_NEEDS)
    outlines: dict[str, _StepHeader] = {}
    for key, raw in raw_steps.items():
        # A step that is no object is reported once, by the second pass.
        step, at = (raw if isinstance(raw, dict) else {}), place / key
        needs = needs_shape.read(step.get("needs", []), at / "needs")
        # A key of the wrong form is reported as a key, not as a namespace too.
        named = "namespace" in step
        namespace = STEP_NAME.read(step["namespace"], at / "namespace") if named else key
        outlines[key] = _StepHeader(needs or (), namespace or key)
    return outlines


def _check_namespaces(outlines: Mapping[str, _StepHeader], place: Location) -> None:
    """Report steps whose namespace is taken; one with its own key as namespace comes first."""
    owners: dict[str, str] = {}
    for key in sorted(outlines, key=lambda key: (outlines[key].namespace != key, key)):
        if owners.setdefault(outlines[key].namespace, key) != key:
            (place / key / "namespace").report(IssueCode.DUPLICATE)


def _needs(outlines: Mapping[str, _StepHeader]) -> dict[str, tuple[str, ...]]:
    return {key: outline.needs for key, outline in outlines.items()}


def _read_types(
    raw_steps: Mapping[str, Any], types: Mapping[str, StepRules], place: Location
) -> dict[str, StepRules]:
    """Return the types of the steps whose types exist."""
    shape = OneOf(types, otherwise=IssueCode.UNKNOWN_TYPE)
    kinds: dict[str, StepRules] = {}
    for key, raw in raw_steps.items():
        if not isinstance(raw, dict):
            continue
        at = place / key / "type"
        if "type" not in raw:
            at.report(IssueCode.REQUIRED)
            continue
        name = shape.read(raw["type"], at)
        if name is not None:
            kinds[key] = types[name]
    return kinds


def _read_step(
    key: str,
    raw: Any,
    outlines: Mapping[str, _StepHeader],
    *,
    kind: StepRules | None,
    place: Location,
) -> Step | None:
    place /= key
    if not isinstance(raw, dict):
        place.report(IssueCode.TYPE)
        return None
    report_unknown(raw, _STEP_FIELDS, place)
    segments = _read_segments(raw, kind, place / "granularity")
    if kind is None:
        # Nothing can be said of settings that belong to no type.
        return None
    namespaces = {outlines[each].namespace for each in graph.upstream(_needs(outlines), key)}
    return Step(
        key=key,
        type=kind.name,
        needs=outlines[key].needs,
        namespace=outlines[key].namespace,
        segmentation=segments,
        settings=_read_settings(raw, kind, place / "with"),
        when=_read_when(raw, kind, namespaces=namespaces, place=place / "when"),
    )


def _read_segments(
    raw: dict[Any, Any], kind: StepRules | None, place: Location
) -> Segmentation | None:
    value = raw.get("granularity", {"mode": "file"})
    if not isinstance(value, dict):
        place.report(IssueCode.TYPE)
        return None
    report_unknown(value, _GRANULARITY_FIELDS, place)
    if "mode" not in value:
        (place / "mode").report(IssueCode.REQUIRED)
        return None
    mode = _MODE.read(value["mode"], place / "mode")
    if mode == "segment":
        if kind is not None and not kind.segmentable:
            (place / "mode").report(IssueCode.NOT_ALLOWED)
        return _read_window(value, place)
    for name in ("window_ms", "overlap_ms"):
        if mode == "file" and name in value:
            (place / name).report(IssueCode.NOT_ALLOWED)
    return None


def _read_window(value: dict[Any, Any], place: Location) -> Segmentation | None:
    if "window_ms" not in value:
        (place / "window_ms").report(IssueCode.REQUIRED)
        return None
    window_ms = WINDOW_MS.read(value["window_ms"], place / "window_ms")
    longest_ms = (window_ms or WINDOW_MS.maximum) // 2
    overlap_ms = WholeNumber(0, longest_ms).read(value.get("overlap_ms", 0), place / "overlap_ms")
    return None if window_ms is None or overlap_ms is None else Segmentation(window_ms, overlap_ms)


def _read_settings(raw: dict[Any, Any], kind: StepRules, place: Location) -> StepSettings | None:
    if kind.settings is None:
        if "with" in raw:
            place.report(IssueCode.NOT_ALLOWED)
        return None
    return read_record(kind.settings, raw.get("with", {}), place)


def _read_when(
    raw: dict[Any, Any], kind: StepRules, *, namespaces: set[str], place: Location
) -> Predicate | None:
    if not kind.takes_predicate:
        if "when" in raw:
            place.report(IssueCode.NOT_ALLOWED)
        return None
    if "when" not in raw:
        place.report(IssueCode.REQUIRED)
        return None
    return PredicateReader(namespaces).read(raw["when"], place)
