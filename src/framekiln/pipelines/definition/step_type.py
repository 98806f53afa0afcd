"""What a definition needs to know of a step type; each type is one module in `steps`."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """`with` of a step; a type that has settings extends it."""


@dataclass(frozen=True, kw_only=True)
class StepType:
    """One type of step."""

    name: str
    settings: type[StepSettings] | None = None
    """None means: `with` is forbidden."""
    segmentable: bool = False
    """Whether it can work on one window after the other."""
    takes_predicate: bool = False
    """Whether `when` is required; it is forbidden otherwise."""
