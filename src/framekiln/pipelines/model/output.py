"""Outputs as they are listed, and which of them is the latest of its namespace."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.model.ids import RunId, StepRunId


@dataclass(frozen=True)
class StoredOutput:
    """An output in a list; `output` is plain JSON."""

    number: int
    """-1 for a whole-file step."""
    window: Window | None
    output: dict[str, Any]


@dataclass(frozen=True)
class LatestOutput:
    """The step run that wrote last to a namespace of a file."""

    namespace: str
    step_run_id: StepRunId
    run_id: RunId
    step_key: str
    written_at: datetime
