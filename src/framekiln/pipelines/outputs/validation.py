"""Checks an output from outside, with every issue.

Models say more than they are asked for: unknown fields of annotations are kept, those beside
`metadata` and `annotations` and in keyframes are ignored. Nothing is ever raised.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.outputs.annotation_reader import (
    METADATA,
    AnnotationRules,
    CheckedAnnotation,
)
from framekiln.pipelines.outputs.model import MAX_ANNOTATIONS, MAX_OUTPUT_BYTES, StepOutput
from framekiln.pipelines.schema.field_types import ListOf
from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, sorted_issues
from framekiln.pipelines.schema.records import OpenRecord, read


@dataclass(frozen=True, kw_only=True)
class OutputForm(OpenRecord):
    """An output as it is sent; both parts may be left out or null."""

    metadata: Annotated[dict[str, Any] | None, METADATA] = None
    annotations: Annotated[tuple[CheckedAnnotation, ...] | None, ListOf(MAX_ANNOTATIONS)] = None


_PARTS: Final = tuple(each.name for each in fields(OutputForm))


def check_output(
    value: Any, *, window: Window | None = None, track_ids: Collection[int] | None = None
) -> StepOutput | list[ValidationIssue]:
    """Return the output that is written in `value`, or all that is wrong with it.

    `window` is that of a segment step: annotations must lie inside it. `track_ids` are those of
    the file, when they are known.
    """
    issues: list[ValidationIssue] = []
    place = Location(issues)
    if not isinstance(value, dict):
        return [ValidationIssue("", IssueCode.TYPE)]
    parts = {name: value[name] for name in _PARTS if name in value}
    if not parts:
        # Fields that nobody knows are reported if there is nothing else: the output would be lost.
        for name in value:
            (place / name).report(IssueCode.UNKNOWN_FIELD)
    body = read(OutputForm, parts, place, context=AnnotationRules(window, track_ids))
    if body is None or issues:
        return sorted_issues(issues)
    output = StepOutput(body.metadata or {}, body.annotations or ())
    return (
        output
        if output.size_bytes <= MAX_OUTPUT_BYTES
        else [ValidationIssue("", IssueCode.TOO_LARGE)]
    )
