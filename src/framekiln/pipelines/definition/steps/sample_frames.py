"""sample_frames: a frame of the video at each multiple of a time."""

from dataclasses import dataclass
from typing import Annotated

from framekiln.pipelines.definition.step_type import StepSettings, StepType
from framekiln.pipelines.schema.shapes import WholeNumber


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """`with` of a sample_frames step."""

    every_ms: Annotated[int, WholeNumber(100, 600_000)] = 1000


STEP = StepType(name="sample_frames", settings=Settings, segmentable=True)
