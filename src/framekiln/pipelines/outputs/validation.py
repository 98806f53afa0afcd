"""Checks an output from outside, with every issue.

Models say more than they are asked for: unknown fields of annotations are kept, those beside
`metadata` and `annotations` and in keyframes are ignored. Nothing is ever raised.
"""

from collections.abc import Collection
from typing import Any, Final

from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.outputs.annotation_reader import AnnotationReader
from framekiln.pipelines.outputs.model import MAX_OUTPUT_BYTES, METADATA, StepOutput
from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, sorted_issues
from framekiln.pipelines.schema.records import report_unknown

_PARTS: Final = ("metadata", "annotations")


def check_output(
    value: Any, *, window: Window | None = None, track_ids: Collection[int] | None = None
) -> StepOutput | list[ValidationIssue]:
    """Return the output that is written in `value`, or all that is wrong with it.

    `window` is that of a segment step: annotations must lie inside it. `track_ids` are those of
    the file, when they are known. Both parts may be left out or null.
    """
    issues: list[ValidationIssue] = []
    place = Location(issues)
    if not isinstance(value, dict):
        return [ValidationIssue("", IssueCode.TYPE)]
    _report_unknown(value, place)
    parts = {name: each for name, each in value.items() if each is not None}
    metadata = _read_metadata(parts.get("metadata", {}), place / "metadata")
    reader = AnnotationReader(window, track_ids)
    annotations = reader.read(parts.get("annotations", []), place / "annotations")
    if issues:
        return sorted_issues(issues)
    output = StepOutput(metadata, annotations)
    return (
        output
        if output.size_bytes <= MAX_OUTPUT_BYTES
        else [ValidationIssue("", IssueCode.TOO_LARGE)]
    )


def _report_unknown(value: dict[Any, Any], place: Location) -> None:
    """Report fields that nobody knows, if there is nothing else: the output would be lost."""
    if not any(name in value for name in _PARTS):
        report_unknown(value, _PARTS, place)


def _read_metadata(value: Any, place: Location) -> dict[str, Any]:
    if not isinstance(value, dict):
        place.report(IssueCode.TYPE)
        return {}
    read: dict[str, Any] = METADATA.read(value, place)
    return read
