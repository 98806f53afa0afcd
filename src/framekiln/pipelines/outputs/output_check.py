"""Checks an output from outside, with every issue.

Models say more than they are asked for: unknown fields of annotations are kept, those beside
`metadata` and `annotations` and in keyframes are ignored. Nothing is ever raised.
"""

from collections.abc import Collection
from typing import Any, Final

from framekiln.pipelines.definitions.windows import Window
from framekiln.pipelines.forms.issues import Code, Issue, Place, sorted_issues
from framekiln.pipelines.forms.records import report_unknown
from framekiln.pipelines.outputs.annotation_reading import AnnotationReader
from framekiln.pipelines.outputs.output import FREE, MAX_OUTPUT_BYTES, Output

_PARTS: Final = ("metadata", "annotations")


def check_output(
    value: Any, *, window: Window | None = None, track_ids: Collection[int] | None = None
) -> Output | list[Issue]:
    """Return the output that is written in `value`, or all that is wrong with it.

    `window` is that of a segment step: annotations must lie inside it. `track_ids` are those of
    the file, when they are known. Both parts may be left out or null.
    """
    issues: list[Issue] = []
    place = Place(issues)
    if not isinstance(value, dict):
        return [Issue("", Code.TYPE)]
    _report_unknown(value, place)
    parts = {name: each for name, each in value.items() if each is not None}
    metadata = _read_metadata(parts.get("metadata", {}), place / "metadata")
    reader = AnnotationReader(window, track_ids)
    annotations = reader.read(parts.get("annotations", []), place / "annotations")
    if issues:
        return sorted_issues(issues)
    output = Output(metadata, annotations)
    return output if output.size_bytes <= MAX_OUTPUT_BYTES else [Issue("", Code.TOO_LARGE)]


def _report_unknown(value: dict[Any, Any], place: Place) -> None:
    """Report fields that nobody knows, if there is nothing else: the output would be lost."""
    if not any(name in value for name in _PARTS):
        report_unknown(value, _PARTS, place)


def _read_metadata(value: Any, place: Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        place.report(Code.TYPE)
        return {}
    read: dict[str, Any] = FREE.read(value, place)
    return read
