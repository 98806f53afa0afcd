"""filter: goes on when its predicate holds, and skips all that needs it otherwise."""

import asyncio
from typing import Final

from framekiln.pipelines.definition.predicate import evaluate
from framekiln.pipelines.execution.locked_run import LockedRun
from framekiln.pipelines.execution.step_inputs import read_inputs
from framekiln.pipelines.execution.step_type import StepType
from framekiln.pipelines.execution.unit_transitions import start_without_worker
from framekiln.pipelines.model.run import UnitKey
from framekiln.pipelines.outputs.inputs import inputs_to_json
from framekiln.pipelines.scheduling.status import StepStatus


class FilterStep(StepType):
    """Decides at once."""

    name = "filter"
    takes_predicate = True

    async def start(self, locked: LockedRun, unit_key: UnitKey) -> None:
        """End the step as its predicate says."""
        key, definition = unit_key.step_key, locked.context.definition
        predicate = definition.steps[key].when
        assert predicate is not None, "a filter has a predicate"
        inputs = await read_inputs(locked.connection, locked.run.id, definition, key=key)
        holds = await asyncio.to_thread(lambda: evaluate(predicate, inputs_to_json(inputs)))
        status = StepStatus.SUCCEEDED if holds else StepStatus.SKIPPED
        start_without_worker(locked, unit_key, status)


STEP_TYPE: Final = FilterStep()
