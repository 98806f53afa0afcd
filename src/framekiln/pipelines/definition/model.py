"""A definition: the steps of one pipeline version. Made by `validation` alone, so always valid."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

from framekiln.pipelines.definition import graph
from framekiln.pipelines.definition.predicate import Predicate
from framekiln.pipelines.schema.field_types import Text
from framekiln.pipelines.schema.records import Record

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")

StepName = Annotated[str, Text(pattern=NAME)]
"""A step key or a namespace."""


@dataclass(frozen=True, kw_only=True)
class StepSettings(Record):
    """`with` of a step; a type that has settings extends it."""


@dataclass(frozen=True)
class Segmentation:
    """How a segment step's work is cut; see `windows`."""

    window_ms: int
    overlap_ms: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """One node of the graph."""

    key: str
    type: str
    needs: tuple[str, ...]
    """Sorted."""
    namespace: str
    """Under which its output is found."""
    segmentation: Segmentation | None
    """None means: the whole file at once."""
    settings: StepSettings | None
    """None for a type that has none."""
    when: Predicate | None
    """For a filter alone."""


@dataclass(frozen=True)
class Definition:
    """All steps, each after those it needs: by depth in the graph, then by key."""

    steps: Mapping[str, Step]

    @cached_property
    def has_segments(self) -> bool:
        """Whether any step is cut into windows."""
        return any(step.segmentation is not None for step in self.steps.values())

    @property
    def needs(self) -> dict[str, tuple[str, ...]]:
        """Who needs whom, directly."""
        return {key: step.needs for key, step in self.steps.items()}

    def upstream(self, key: str) -> Iterator[Step]:
        """Yield the steps that a step needs, directly or not, in the order of the definition."""
        needed = graph.upstream(self.needs, key)
        return (step for each, step in self.steps.items() if each in needed)
