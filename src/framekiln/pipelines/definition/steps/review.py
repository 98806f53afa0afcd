"""review: a person approves, corrects or rejects what the steps before it found."""

from dataclasses import dataclass
from typing import Annotated

from framekiln.pipelines.definition.step_type import StepSettings, StepType
from framekiln.pipelines.schema.shapes import OneOf, Text, WholeNumber

_MINUTE_MS = 60_000
_DAY_MS = 86_400_000


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """`with` of a review step."""

    instructions: Annotated[str | None, Text(maximum=2000)] = None
    expires_after_ms: Annotated[int, WholeNumber(_MINUTE_MS, 30 * _DAY_MS)] = 7 * _DAY_MS
    on_expiry: Annotated[str, OneOf(("approve", "reject", "fail"))] = "fail"


STEP = StepType(name="review", settings=Settings)
