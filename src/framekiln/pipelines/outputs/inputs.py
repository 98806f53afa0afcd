"""What a step may read: the outputs of all steps it needs, directly or not. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.outputs.corrections import (
    Correction,
    ReviewedNamespaces,
    apply_corrections,
)
from framekiln.pipelines.outputs.model import Annotation, StepOutput


def merge_windows(outputs: Iterable[StepOutput]) -> StepOutput:
    """Return the merged view of a segment step, whose windows come in order (spec 4.7).

    It has the annotations of all windows, and each metadata field from the last that sets it.
    """
    metadata: dict[str, Any] = {}
    annotations: list[Annotation] = []
    for output in outputs:
        metadata.update(output.metadata)
        annotations.extend(output.annotations)
    return StepOutput(metadata, tuple(annotations))


def step_inputs(
    definition: Definition,
    key: str,
    *,
    outputs: Mapping[str, StepOutput],
    corrections: Mapping[str, Correction],
    window: Window | None = None,
) -> dict[str, StepOutput]:
    """Return what a step reads, by namespace: its `metadata` in the words of spec 4.7.

    `outputs` are by step key, those of segment steps merged; `corrections` by the key of the review
    that made them. Of a segment step's inputs only the annotations that touch its window are left.
    """
    upstream = list(definition.upstream(key))
    found = {step.namespace: outputs[step.key] for step in upstream if step.key in outputs}
    reviews = (
        ReviewedNamespaces(
            corrections[step.key],
            tuple(each.namespace for each in definition.upstream(step.key)),
            step.namespace,
        )
        for step in upstream
        if step.key in corrections
    )
    corrected = apply_corrections(found, reviews)
    if window is None:
        return corrected
    return {name: _limited(output, window) for name, output in corrected.items()}


def inputs_to_json(inputs: Mapping[str, StepOutput]) -> dict[str, Any]:
    """Return inputs as JSON: what predicates are asked of and endpoints are sent."""
    return {namespace: output.to_json() for namespace, output in inputs.items()}


def _limited(output: StepOutput, window: Window) -> StepOutput:
    touching = (each for each in output.annotations if window.overlaps(each.start_ms, each.end_ms))
    return replace(output, annotations=tuple(touching))
