"""Reads the inputs of a step from the database: outputs of earlier steps, with corrections."""

import asyncio

from framekiln.db.pool import Connection
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.pipeline import RunId
from framekiln.pipelines.outputs.inputs import merge_windows, step_inputs
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.stores import output as output_store
from framekiln.pipelines.stores import review as review_store


async def read_inputs(
    connection: Connection,
    run_id: RunId,
    definition: Definition,
    *,
    key: str,
    window: Window | None = None,
) -> dict[str, StepOutput]:
    """Return the inputs of a step, by namespace."""
    keys = [step.key for step in definition.upstream(key)]
    if not keys:
        return {}
    found = await output_store.load(connection, run_id, keys=keys, window=window)
    corrections = await review_store.load_corrections(connection, run_id)

    def merged() -> dict[str, StepOutput]:
        parts: dict[str, list[StepOutput]] = {}
        for step_key, output in found:
            parts.setdefault(step_key, []).append(output)
        outputs = {step_key: merge_windows(each) for step_key, each in parts.items()}
        return step_inputs(definition, key, outputs=outputs, corrections=corrections, window=window)

    # In a thread, because ten thousand annotations take a while.
    return await asyncio.to_thread(merged)
