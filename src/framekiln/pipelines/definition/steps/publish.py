"""publish: addresses at which the input file, or a redaction of it, can be played."""

from dataclasses import dataclass
from typing import Annotated, Final

from framekiln.pipelines.definition.step_type import StepSettings, StepType
from framekiln.pipelines.schema.shapes import OneOf, SetOf

ORIGINAL: Final = "original"
REDACTED: Final = "redacted"


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """`with` of a publish step."""

    formats: Annotated[tuple[str, ...], SetOf(OneOf(("dash", "hls")), maximum=2)] = ("hls",)
    source: Annotated[str, OneOf((ORIGINAL, REDACTED))] = ORIGINAL
    """The input file, or the nearest redaction before the step."""


STEP = StepType(name="publish", settings=Settings)
