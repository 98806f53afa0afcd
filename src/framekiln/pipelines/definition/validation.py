"""Reads a definition from JSON and collects every issue; `schema.issues.IssueCode` has the codes.

`step_form` says how each step is written. Here is what one step cannot say alone: needs and
namespaces are looked at first, since a filter may only ask namespaces of steps it needs. Any Python
value may come in, and nothing is ever raised.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache
from typing import Annotated, Any, Final, Union, cast

from pydantic import Field

from framekiln.pipelines.definition import graph
from framekiln.pipelines.definition.model import NAME, Definition, Step, StepName
from framekiln.pipelines.definition.step_form import (
    MAX_NEEDS,
    StepContext,
    StepForm,
    read_step_form,
    step_form,
)
from framekiln.pipelines.definition.step_rules import StepRules, TypedGraph
from framekiln.pipelines.schema.field_types import JsonType
from framekiln.pipelines.schema.issues import (
    InnerIssues,
    IssueCode,
    Location,
    ValidationIssue,
    issue_error,
    sorted_issues,
)
from framekiln.pipelines.schema.records import Record, read

MAX_STEPS: Final = 64
MAX_VALUES: Final = 5000
"""JSON values in all of a definition. Valid ones take up to 10 µs each."""


@dataclass(frozen=True)
class StepsType(JsonType):
    """Steps by their keys, of these types."""

    types: tuple[StepRules, ...]

    def check(self, value: Any) -> dict[str, Step]:
        """See `JsonType`."""
        if not isinstance(value, dict):
            raise issue_error(IssueCode.TYPE)
        if not 1 <= len(value) <= MAX_STEPS:
            raise issue_error(IssueCode.TOO_MANY if value else IssueCode.EMPTY)
        issues = InnerIssues()
        steps = _read_steps(value, {each.name: each for each in self.types}, issues.place)
        issues.raise_any()
        return steps

    def described(self) -> Any:
        """See `JsonType`."""
        forms: Any = Union[*map(step_form, self.types)]
        limits = Field(
            min_length=1, max_length=MAX_STEPS, json_schema_extra={"additionalProperties": False}
        )
        step = Annotated[forms, Field(discriminator="type")]
        return Annotated[dict[StepName, step], limits]


@dataclass(frozen=True, kw_only=True)
class DefinitionForm(Record):
    """How a definition is written."""

    steps: dict[str, Step]


def definition_form(types: Mapping[str, StepRules]) -> type[DefinitionForm]:
    """Return how definitions with steps of these types are written."""
    return _definition_form(tuple(types.values()))


@cache
def _definition_form(types: tuple[StepRules, ...]) -> type[DefinitionForm]:
    form = make_dataclass(
        "PipelineDefinition",
        [("steps", Annotated[dict[str, Step], StepsType(types)])],
        bases=(DefinitionForm,),
        namespace={"__doc__": "The steps of a pipeline, by their keys."},
        frozen=True,
        kw_only=True,
    )
    return cast(type[DefinitionForm], form)


def validate(value: Any, types: Mapping[str, StepRules]) -> Definition | list[ValidationIssue]:
    """Return the definition that is written in `value`, or all that is wrong with it."""
    issues: list[ValidationIssue] = []
    form = read(definition_form(types), _without_schema(value), Location(issues))
    if form is None:
        return sorted_issues(issues)
    needs = {key: step.needs for key, step in form.steps.items()}
    return Definition({key: form.steps[key] for key in graph.in_order(needs)})


def has_too_many_values(value: Any) -> bool:
    """Whether a definition has more than `MAX_VALUES`. Looks at no more than that many.

    For what callers send: definitions that were stored before there was a limit stay valid.
    """
    seen, waiting = 0, [value]
    while waiting and seen + len(waiting) <= MAX_VALUES:
        each = waiting.pop()
        seen += 1
        if isinstance(each, dict | list):
            waiting += each.values() if isinstance(each, dict) else each
    return bool(waiting)


def _without_schema(value: Any) -> Any:
    """Leave out the field by which editors find the JSON Schema."""
    if isinstance(value, dict) and isinstance(value.get("$schema"), str):
        return {name: each for name, each in value.items() if name != "$schema"}
    return value


def _read_steps(
    value: dict[Any, Any], types: Mapping[str, StepRules], place: Location
) -> dict[str, Step]:
    for key in value:
        read(StepName, key, place / key)
    raw_steps = {key: raw for key, raw in value.items() if isinstance(key, str)}
    typed = TypedGraph(
        needs={key: _needs_of(raw, raw_steps) for key, raw in raw_steps.items()},
        types={
            key: step_type
            for key, raw in raw_steps.items()
            if (step_type := _type_of(raw, types)) is not None
        },
    )
    namespaces = {key: _namespace_of(key, raw) for key, raw in raw_steps.items()}
    for key in graph.in_cycles(typed.needs):
        (place / key / "needs").report(IssueCode.CYCLE)
    _check_namespaces(namespaces, place)
    steps = {}
    for key, raw in raw_steps.items():
        asked = {namespaces[each] for each in graph.upstream(typed.needs, key)}
        context = StepContext(steps=raw_steps, namespaces=asked)
        step_type = typed.types.get(key)
        form = read_step_form(raw, step_type, place / key, context=context)
        if step_type is not None:
            form = form or _known_part(raw, step_type, typed.needs[key])
            steps[key] = _step(key, form)
            step_type.check(steps[key], typed, place / key)
    return steps


def _type_of(raw: Any, types: Mapping[str, StepRules]) -> StepRules | None:
    name = raw.get("type") if isinstance(raw, dict) else None
    return types.get(name) if isinstance(name, str) else None


def _needs_of(raw: Any, steps: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the steps that a step needs, as far as they are known."""
    needs = raw.get("needs") if isinstance(raw, dict) else None
    if not isinstance(needs, list) or len(needs) > MAX_NEEDS:
        return ()
    return tuple(sorted({each for each in needs if isinstance(each, str) and each in steps}))


def _namespace_of(key: str, raw: Any) -> str:
    """Return the namespace of a step; a wrong one is reported once, and not as a duplicate."""
    named = raw.get("namespace") if isinstance(raw, dict) else None
    return named if isinstance(named, str) and NAME.fullmatch(named) else key


def _check_namespaces(namespaces: Mapping[str, str], place: Location) -> None:
    """Report steps whose namespace is taken; one with its own key as namespace comes first."""
    owners: dict[str, str] = {}
    for key in sorted(namespaces, key=lambda key: (namespaces[key] != key, key)):
        if owners.setdefault(namespaces[key], key) != key:
            (place / key / "namespace").report(IssueCode.DUPLICATE)


def _known_part(raw: dict[Any, Any], step_type: StepRules, needs: Collection[str]) -> StepForm:
    """Return the known part of a step with issues, for the checks of its type."""
    settings = None
    if step_type.settings is not None:
        settings = read(step_type.settings, raw.get("with", {}), Location([]))
    return StepForm(type=step_type.name, needs=tuple(needs), settings=settings)


def _step(key: str, form: StepForm) -> Step:
    return Step(
        key=key,
        type=form.type,
        needs=form.needs,
        namespace=form.namespace or key,
        segmentation=form.granularity,
        settings=form.settings,
        when=form.when,
    )
