"""What a step leaves behind: metadata, and annotations on the time of the file.

Values only; `output_check` reads what others send. Numbers are kept as they were sent: whoever
computes with times makes fractions of them.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

from framekiln.kit.canonical_json import canonical_json
from framekiln.pipelines.forms.names import ANNOTATION_KIND
from framekiln.pipelines.forms.records import ListOf, as_json
from framekiln.pipelines.forms.shapes import Number, NumberBetween, Text, WholeNumber

MAX_ANNOTATIONS = 10_000
MAX_OUTPUT_BYTES = 1024 * 1024
MAX_METADATA_LEVELS = 32

_TIME_MS = NumberBetween(minimum=0)
_UNIT = NumberBetween(0, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyframe:
    """A box at an instant; coordinates are fractions of the frame's width and height."""

    t_ms: Annotated[Number, _TIME_MS]
    x: Annotated[Number, _UNIT]
    y: Annotated[Number, _UNIT]
    w: Annotated[Number, _UNIT]
    h: Annotated[Number, _UNIT]


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """Something found between two instants, or at one."""

    kind: Annotated[str, ANNOTATION_KIND]
    start_ms: Annotated[Number, _TIME_MS]
    end_ms: Annotated[Number, _TIME_MS]
    label: Annotated[str | None, Text(minimum=0)] = None
    text: Annotated[str | None, Text(minimum=0)] = None
    confidence: Annotated[Number | None, _UNIT] = None
    track_id: Annotated[int | None, WholeNumber(-(2**31), 2**32 - 1)] = None
    # An empty list is refused: without keyframes sound is muted, with them a box is blurred, and
    # whoever sends no boxes at all must not get the one for the other.
    keyframes: Annotated[tuple[Keyframe, ...] | None, ListOf(Keyframe, minimum=1)] = None


@dataclass(frozen=True)
class Output:
    """The output of a step, or of one of its windows."""

    metadata: dict[str, Any] = field(default_factory=dict)
    annotations: tuple[Annotation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the output as it is stored and sent."""
        return {"metadata": self.metadata, "annotations": as_json(self.annotations)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Output":
        """Return an output that was stored; it is not checked again."""
        return cls(stored["metadata"], tuple(map(_annotation, stored["annotations"])))

    @property
    def size_bytes(self) -> int:
        """How large it is, as the limit counts: in canonical JSON."""
        return len(canonical_json(self.to_json()))


def _annotation(stored: dict[str, Any]) -> Annotation:
    keyframes = stored.get("keyframes")
    if keyframes is None:
        return Annotation(**stored)
    return Annotation(**{**stored, "keyframes": tuple(Keyframe(**each) for each in keyframes)})
