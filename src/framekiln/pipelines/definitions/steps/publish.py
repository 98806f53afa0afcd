"""publish: addresses at which the input file can be played."""

from dataclasses import dataclass
from typing import Annotated

from framekiln.pipelines.definitions.step_type import StepSettings, StepType
from framekiln.pipelines.forms.shapes import OneOf, SetOf


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """`with` of a publish step."""

    formats: Annotated[tuple[str, ...], SetOf(OneOf(("dash", "hls")), maximum=2)] = ("hls",)


STEP = StepType(name="publish", settings=Settings)
