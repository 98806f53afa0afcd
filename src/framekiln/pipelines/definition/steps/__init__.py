"""All types of steps, written out: a new type is one module and one line here."""

from framekiln.pipelines.definition.step_type import StepType
from framekiln.pipelines.definition.steps import (
    detect_scenes,
    endpoint,
    filter,
    probe,
    publish,
    redact_render,
    review,
    sample_frames,
    transcribe,
)

STEP_TYPES: dict[str, StepType] = {
    each.STEP.name: each.STEP
    for each in (
        probe,
        transcribe,
        sample_frames,
        detect_scenes,
        endpoint,
        filter,
        review,
        redact_render,
        publish,
    )
}
