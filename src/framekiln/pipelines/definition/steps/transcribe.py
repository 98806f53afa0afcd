"""transcribe: the speech of the first audio track, as segments and words."""

from framekiln.pipelines.definition.step_type import StepType

STEP = StepType(name="transcribe", segmentable=True)
