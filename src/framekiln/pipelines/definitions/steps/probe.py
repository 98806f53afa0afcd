"""probe: what the file is: length, size, tracks."""

from framekiln.pipelines.definitions.step_type import StepType

STEP = StepType(name="probe")
