"""What a step leaves behind: metadata, and annotations on the time of the file.

Values only; `validation` reads what others send. Numbers are kept as they were sent: whoever
computes with times makes fractions of them.
"""

from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic.json_schema import SkipJsonSchema

from framekiln.kit.canonical_json import canonical_json
from framekiln.pipelines.schema.field_types import (
    IntegerBetween,
    ListOf,
    Number,
    NumberBetween,
    Text,
)
from framekiln.pipelines.schema.records import OpenRecord, as_json

MAX_ANNOTATIONS = 10_000
MAX_OUTPUT_BYTES = 1024 * 1024

AnnotationKind = Annotated[str, Text(maximum=128)]
MAX_KINDS = 32

_TimeMs = Annotated[Number, NumberBetween(minimum=0)]
_Fraction = Annotated[Number, NumberBetween(0, 1)]
_AnyText = Annotated[str, Text(minimum=0)]


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxKeyframe(OpenRecord):
    """A box at an instant; coordinates are fractions of the frame's width and height."""

    t_ms: _TimeMs
    x: _Fraction
    y: _Fraction
    w: _Fraction
    h: _Fraction


_KEYFRAME = frozenset(each.name for each in fields(BoxKeyframe))


def _known_fields(value: Any) -> Any:
    if not isinstance(value, dict) or value.keys() <= _KEYFRAME:
        return value
    return {name: value[name] for name in value.keys() & _KEYFRAME}


# Pydantic would look at the names of fields that it ignores, and give up at some of them.
_OpenKeyframe = Annotated[BoxKeyframe, BeforeValidator(_known_fields)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation(OpenRecord):
    """Something found between two instants, or at one."""

    kind: AnnotationKind
    start_ms: _TimeMs
    end_ms: _TimeMs
    label: _AnyText | None = None
    text: _AnyText | None = None
    confidence: _Fraction | None = None
    track_id: Annotated[int | None, IntegerBetween(-(2**31), 2**32 - 1)] = None
    keyframes: Annotated[tuple[_OpenKeyframe, ...] | None, ListOf()] = None
    """None when there are none, also when an empty list was sent."""
    more: SkipJsonSchema[dict[str, Any] | None] = field(default=None, hash=False)
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
