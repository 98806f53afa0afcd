"""detect_scenes: where the picture changes at once."""

from dataclasses import dataclass
from typing import Annotated

from framekiln.pipelines.definition.step_type import StepSettings, StepType
from framekiln.pipelines.schema.shapes import Number, NumberBetween


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """`with` of a detect_scenes step."""

    threshold: Annotated[Number, NumberBetween(0.01, 1)] = 0.3
    """How much must change, as a fraction of the most that can."""


STEP = StepType(name="detect_scenes", settings=Settings, segmentable=True)
