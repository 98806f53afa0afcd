"""endpoint: the caller's own work, asked for over HTTP."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from framekiln.pipelines.definition.step_type import StepSettings, StepType
from framekiln.pipelines.schema.shapes import Identifier, WholeNumber


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """`with` of an endpoint step."""

    endpoint_id: Annotated[UUID, Identifier()]
    max_concurrency: Annotated[int, WholeNumber(1, 1024)] = 8
    """How many requests this step may have open at a time, over all runs."""


STEP = StepType(name="endpoint", settings=Settings, segmentable=True)
