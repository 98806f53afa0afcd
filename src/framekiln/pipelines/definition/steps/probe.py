"""probe: what the file is: length, size, tracks."""

from framekiln.pipelines.definition.step_type import StepType

STEP = StepType(name="probe")
