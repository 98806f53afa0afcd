"""All types of steps, written out: a new type is one module and one line in this table."""

from framekiln.pipelines.execution.step_type import StepTypes, step_table
from framekiln.pipelines.steps import (
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

STEP_TYPES: StepTypes = step_table(
    probe.STEP_TYPE,
    transcribe.STEP_TYPE,
    sample_frames.STEP_TYPE,
    detect_scenes.STEP_TYPE,
    endpoint.STEP_TYPE,
    filter.STEP_TYPE,
    review.STEP_TYPE,
    redact_render.STEP_TYPE,
    publish.STEP_TYPE,
)
