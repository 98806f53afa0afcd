"""What a definition needs to know of a step type, and how types learn of each other: by what they
can do, never by name. Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from framekiln.pipelines.definition import graph
from framekiln.pipelines.definition.model import Step, StepSettings
from framekiln.pipelines.schema.issues import Location


@dataclass(frozen=True)
class DefinitionWarning:
    """What is allowed in a definition, but perhaps not meant."""

    path: str
    code: str
    message: str


class StepRules:
    """The rules of one type of step for definitions."""

    name: ClassVar[str]
    settings: ClassVar[type[StepSettings] | None] = None
    """None means: `with` is forbidden."""
    segmentable: ClassVar[bool] = False
    """Whether it can work on one window after the other."""
    takes_predicate: ClassVar[bool] = False
    """Whether `when` is required; it is forbidden otherwise."""
    produces_redaction: ClassVar[bool] = False
    """Whether its output is a copy of the file in which something may be hidden."""

    def check(self, step: Step, steps: "TypedGraph", place: Location) -> None:
        """Report what is wrong with a step among the others; `place` is that of the step.

        `step.settings` are None when they have issues of their own.
        """

    def warnings(
        self, key: str, written: Mapping[str, Any], steps: "TypedGraph"
    ) -> Iterable[DefinitionWarning]:
        """Return what is to be said of a step of a valid definition, as its author wrote it."""
        return ()


@dataclass(frozen=True)
class TypedGraph:
    """The steps of a definition: who needs whom, and the type of each."""

    needs: graph.Needs
    types: Mapping[str, StepRules]
    """By key; a step whose type is unknown is not there."""

    def nearest(self, key: str, is_wanted: Callable[[StepRules], bool]) -> Iterator[list[str]]:
        """Yield the steps of wanted types that a step needs, nearest first.

        Those equally near come together.
        """
        for level in graph.by_distance(self.needs, key):
            found = [each for each in level if each in self.types and is_wanted(self.types[each])]
            if found:
                yield found


def definition_warnings(
    value: Mapping[str, Any], types: Mapping[str, StepRules]
) -> list[DefinitionWarning]:
    """Return what is to be said of a definition that is valid, as its author wrote it."""
    written: Mapping[str, Any] = value["steps"]
    steps = TypedGraph(
        needs={key: step.get("needs", []) for key, step in written.items()},
        types={key: types[step["type"]] for key, step in written.items()},
    )
    return [
        warning
        for key, step in written.items()
        for warning in steps.types[key].warnings(key, step, steps)
    ]
