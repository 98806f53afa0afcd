"""How a transcript that is too large for an output is cut (spec 2.11, transcribe). Pure."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from typing import Any

from framekiln.kit.canonical_json import canonical_json
from framekiln.pipelines.outputs.model import (
    MAX_ANNOTATIONS,
    MAX_OUTPUT_BYTES,
    Annotation,
    StepOutput,
)
from framekiln.pipelines.schema.records import as_json


def fit_transcript(
    metadata: dict[str, Any], *, segments: Iterable[Annotation], words: Iterable[Annotation]
) -> StepOutput:
    """Return an output within the limits; its metadata also says whether it is `truncated`.

    Segments are kept in time order as far as they fit. Words are kept only if all of them fit
    beside all segments: half of them would look like the whole.
    """
    in_time, all_words = _in_time_order(segments), _in_time_order(words)
    whole = StepOutput({**metadata, "truncated": False}, (*in_time, *all_words))
    if _count_fitting(whole) == len(whole.annotations):
        return whole
    without_words = StepOutput({**metadata, "truncated": True}, in_time)
    return StepOutput(without_words.metadata, in_time[: _count_fitting(without_words)])


def _in_time_order(annotations: Iterable[Annotation]) -> tuple[Annotation, ...]:
    return tuple(sorted(annotations, key=lambda each: (each.start_ms, each.end_ms)))


def _count_fitting(output: StepOutput) -> int:
    """Return how many annotations, from the first on, stay within the limits."""
    room_bytes = MAX_OUTPUT_BYTES - StepOutput(output.metadata).size_bytes
    sizes_bytes = _sizes_bytes(output.annotations[:MAX_ANNOTATIONS])
    return sum(1 for _ in takewhile(lambda used: used <= room_bytes, accumulate(sizes_bytes)))


def _sizes_bytes(annotations: Sequence[Annotation]) -> Iterable[int]:
    for index, annotation in enumerate(annotations):
        # Each but the first has a comma before it.
        yield len(canonical_json(as_json(annotation))) + (index > 0)
