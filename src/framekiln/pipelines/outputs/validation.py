"""Reads outputs and annotations from outside, with every issue.

Models say more than they are asked for: unknown fields of annotations are kept, those beside
`metadata` and `annotations` and in keyframes are ignored. Nothing is ever raised.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Annotated, Any, Final

from pydantic import ValidationError, ValidationInfo, WrapValidator

from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.outputs.model import (
    MAX_ANNOTATIONS,
    MAX_OUTPUT_BYTES,
    Annotation,
    BoxKeyframe,
    StepOutput,
    split_fields,
)
from framekiln.pipelines.schema.field_types import JsonObject, ListOf
from framekiln.pipelines.schema.issues import (
    InnerIssues,
    IssueCode,
    Location,
    ValidationIssue,
    issue_error,
    sorted_issues,
)
from framekiln.pipelines.schema.records import OpenRecord, read

METADATA: Final = JsonObject(max_levels=32)
"""What may stand in metadata, and in fields of annotations that are not ours."""

# x + w of two rounded numbers may miss 1 by a hair; whoever draws the box cuts it at the edge.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class OutputRules:
    """Rules for the output of one attempt, beyond those for all outputs.

    Annotations must lie inside the window, if there is one, and be of these tracks, if the tracks
    of the file are known. They are read in this context.
    """

    window: Window | None = None
    track_ids: Collection[int] | None = None

    def check(self, annotation: Annotation, place: Location) -> None:
        """Report what is wrong with an annotation whose fields are right, each by itself."""
        if annotation.end_ms < annotation.start_ms:
            (place / "end_ms").report(IssueCode.OUT_OF_RANGE)
        if self.window is not None:
            _check_inside(annotation, self.window, place)
        if self.track_ids is not None and annotation.track_id not in (None, *self.track_ids):
            (place / "track_id").report(IssueCode.UNKNOWN_TRACK)
        if annotation.keyframes:
            _check_keyframes(annotation, annotation.keyframes, place / "keyframes")


def _read_annotation(
    value: Any, read_own: Callable[[Any], Annotation], info: ValidationInfo
) -> Annotation:
    if not isinstance(value, dict):
        raise issue_error(IssueCode.TYPE)
    own, more = split_fields(value)
    issues = InnerIssues()
    if more is not None:
        try:
            more = METADATA.check(more)
        except ValidationError as error:
            issues.add(error)
    annotation = None
    try:
        annotation = read_own(own)
    except ValidationError as error:
        issues.add(error)
    if annotation is not None:
        rules: OutputRules = info.context or OutputRules()
        rules.check(annotation, issues.place)
    issues.raise_any()
    assert annotation is not None
    if more is None and annotation.keyframes != ():
        return annotation
    return replace(annotation, keyframes=annotation.keyframes or None, more=more)


CheckedAnnotation = Annotated[Annotation, WrapValidator(_read_annotation)]


def _check_inside(annotation: Annotation, window: Window, place: Location) -> None:
    if not window.contains(annotation.start_ms, window.end_ms):
        (place / "start_ms").report(IssueCode.OUT_OF_RANGE)
    if not window.contains(window.start_ms, annotation.end_ms):
        (place / "end_ms").report(IssueCode.OUT_OF_RANGE)


def _check_keyframes(
    annotation: Annotation, keyframes: tuple[BoxKeyframe, ...], place: Location
) -> None:
    for index, keyframe in enumerate(keyframes):
        if not annotation.start_ms <= keyframe.t_ms <= annotation.end_ms:
            (place / index / "t_ms").report(IssueCode.OUT_OF_RANGE)
        _check_box(keyframe, place / index)
    for index, (before, after) in enumerate(pairwise(keyframes), start=1):
        if after.t_ms <= before.t_ms:
            (place / index / "t_ms").report(IssueCode.NOT_INCREASING)


def _check_box(keyframe: BoxKeyframe, place: Location) -> None:
    if keyframe.x + keyframe.w > 1 + _ROUNDING:
        (place / "w").report(IssueCode.OUT_OF_RANGE)
    if keyframe.y + keyframe.h > 1 + _ROUNDING:
        (place / "h").report(IssueCode.OUT_OF_RANGE)


@dataclass(frozen=True, kw_only=True)
class OutputForm(OpenRecord):
    """An output as it is sent; both parts may be left out or null."""

    metadata: Annotated[dict[str, Any] | None, METADATA] = None
    annotations: Annotated[tuple[CheckedAnnotation, ...] | None, ListOf(MAX_ANNOTATIONS)] = None


_PARTS: Final = tuple(each.name for each in fields(OutputForm))


def check_output(
    value: Any, rules: OutputRules | None = None
) -> StepOutput | list[ValidationIssue]:
    """Return the output that is written in `value`, or all that is wrong with it."""
    issues: list[ValidationIssue] = []
    place = Location(issues)
    if not isinstance(value, dict):
        return [ValidationIssue("", IssueCode.TYPE)]
    parts = {name: value[name] for name in _PARTS if name in value}
    if not parts:
        # Fields that nobody knows are reported if there is nothing else: the output would be lost.
        for name in value:
            (place / name).report(IssueCode.UNKNOWN_FIELD)
    body = read(OutputForm, parts, place, context=rules)
    if body is None or issues:
        return sorted_issues(issues)
    output = StepOutput(body.metadata or {}, body.annotations or ())
    return (
        output
        if output.size_bytes <= MAX_OUTPUT_BYTES
        else [ValidationIssue("", IssueCode.TOO_LARGE)]
    )
