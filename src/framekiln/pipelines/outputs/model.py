"""What a step leaves behind: metadata, and annotations on the time of the file.

Values only; `output_check` reads what others send. Numbers are kept as they were sent: whoever
computes with times makes fractions of them.
"""

from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from framekiln.kit.canonical_json import canonical_json
from framekiln.pipelines.schema.names import ANNOTATION_KIND
from framekiln.pipelines.schema.records import ListOf, as_json
from framekiln.pipelines.schema.shapes import FreeJson, Number, NumberBetween, Text, WholeNumber

MAX_ANNOTATIONS = 10_000
MAX_OUTPUT_BYTES = 1024 * 1024
MAX_METADATA_LEVELS = 32

METADATA = FreeJson(MAX_METADATA_LEVELS)
"""What may stand in metadata, and in fields of annotations that are not ours."""

_TIME_MS = NumberBetween(minimum=0)
_UNIT = NumberBetween(0, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxKeyframe:
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
    keyframes: Annotated[tuple[BoxKeyframe, ...] | None, ListOf(BoxKeyframe, is_strict=False)] = (
        None
    )
    """None when there are none, also when an empty list was sent."""
    more: dict[str, Any] | None = field(default=None, hash=False)
    """Fields that only whoever sent them knows."""

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored and sent."""
        written: dict[str, Any] = as_json(self)
        return {**written.pop("more", {}), **written}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Annotation":
        """Return one that was stored; it is not checked again."""
        own, more = split_fields(stored)
        if own.get("keyframes") is not None:
            own["keyframes"] = tuple(BoxKeyframe(**each) for each in own["keyframes"])
        return cls(**own, more=more)


_OWN = frozenset(each.name for each in fields(Annotation)) - {"more"}


def split_fields(annotation: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the fields of an annotation that we know, and the others, if there are any."""
    if annotation.keys() <= _OWN:
        return dict(annotation), None
    own = {name: value for name, value in annotation.items() if name in _OWN}
    return own, {name: value for name, value in annotation.items() if name not in _OWN}


@dataclass(frozen=True)
class StepOutput:
    """The output of a step, or of one of its windows."""

    metadata: dict[str, Any] = field(default_factory=dict)
    annotations: tuple[Annotation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the output as it is stored and sent."""
        return {
            "metadata": self.metadata,
            "annotations": [each.to_json() for each in self.annotations],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "StepOutput":
        """Return an output that was stored; it is not checked again."""
        return cls(stored["metadata"], tuple(map(Annotation.from_json, stored["annotations"])))

    @property
    def size_bytes(self) -> int:
        """How large it is, as the limit counts: in canonical JSON."""
        return len(canonical_json(self.to_json()))
