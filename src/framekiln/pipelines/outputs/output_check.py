"""Checks an output from outside, with every issue.

Unknown fields are refused: what is free belongs into the metadata. Nothing is ever raised.
"""

from collections.abc import Collection
from typing import Any

from framekiln.pipelines.definitions.windows import Window
from framekiln.pipelines.forms.issues import Code, Issue, Place, sorted_issues
from framekiln.pipelines.forms.records import report_unknown
from framekiln.pipelines.forms.shapes import is_storable, plain_number
from framekiln.pipelines.outputs.annotation_reading import AnnotationReader
from framekiln.pipelines.outputs.output import MAX_METADATA_LEVELS, MAX_OUTPUT_BYTES, Output


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
    report_unknown(value, ("metadata", "annotations"), place)
    parts = {name: each for name, each in value.items() if each is not None}
    metadata = _read_metadata(parts.get("metadata", {}), place / "metadata")
    reader = AnnotationReader(window, track_ids)
    annotations = reader.read(parts.get("annotations", []), place / "annotations")
    if issues:
        return sorted_issues(issues)
    output = Output(metadata, annotations)
    return output if output.size_bytes <= MAX_OUTPUT_BYTES else [Issue("", Code.TOO_LARGE)]


def _read_metadata(value: Any, place: Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        place.report(Code.TYPE)
        return {}
    read: dict[str, Any] = _read_free(value, place, level=1)
    return read


def _read_free(value: Any, place: Place, *, level: int) -> Any:
    """Return any JSON value, numbers plain; or report what cannot be stored or is too deep."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict | list):
        if level > MAX_METADATA_LEVELS:
            place.report(Code.TOO_DEEP)
            return None
        return _read_members(value, place, level=level + 1)
    if isinstance(value, str):
        if not is_storable(value):
            place.report(Code.PATTERN)
        return value
    number = plain_number(value)
    if number is None:
        place.report(Code.OUT_OF_RANGE if isinstance(value, int | float) else Code.TYPE)
    return number


def _read_members(value: dict[Any, Any] | list[Any], place: Place, *, level: int) -> Any:
    if isinstance(value, list):
        items = enumerate(value)
        return [_read_free(each, place / index, level=level) for index, each in items]
    for name in value:
        if not isinstance(name, str):
            (place / name).report(Code.TYPE)
        elif not is_storable(name):
            (place / name).report(Code.PATTERN)
    return {name: _read_free(each, place / name, level=level) for name, each in value.items()}
