"""filter: goes on when its predicate holds, and skips all that needs it otherwise."""

from framekiln.pipelines.definition.step_type import StepType

STEP = StepType(name="filter", takes_predicate=True)
