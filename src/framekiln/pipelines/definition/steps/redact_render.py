"""redact_render: a copy of the video with annotations blurred or muted."""

from dataclasses import dataclass
from typing import Annotated

from framekiln.pipelines.definition.step_type import StepSettings, StepType
from framekiln.pipelines.schema.names import ANNOTATION_KIND, MAX_KINDS
from framekiln.pipelines.schema.shapes import SetOf


@dataclass(frozen=True, kw_only=True)
class Settings(StepSettings):
    """`with` of a redact_render step."""

    kinds: Annotated[tuple[str, ...], SetOf(ANNOTATION_KIND, maximum=MAX_KINDS)]


STEP = StepType(name="redact_render", settings=Settings)
