"""Which redaction a publish step shows, and a warning where nobody said whether it should. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from framekiln.pipelines.definition import graph
from framekiln.pipelines.definition.model import Definition, Step
from framekiln.pipelines.definition.steps import publish, redact_render
from framekiln.pipelines.schema.issues import IssueCode, Location


@dataclass(frozen=True)
class DefinitionWarning:
    """What is allowed in a definition, but perhaps not meant."""

    path: str
    code: str
    message: str


def nearest_redactions(definition: Definition, key: str) -> Iterator[list[Step]]:
    """Yield the redactions that a step needs, nearest first; those equally near come together."""
    types = {step.key: step.type for step in definition.steps.values()}
    for level in _redactions(definition.needs, types, key):
        yield [definition.steps[each] for each in level]


def check_publish_sources(steps: Mapping[str, Step], needs: graph.Needs, place: Location) -> None:
    """Report steps that publish a redaction where there is none, or no single nearest one."""
    types = {step.key: step.type for step in steps.values()}
    for key, step in steps.items():
        settings = step.settings
        if not isinstance(settings, publish.Settings) or settings.source != publish.REDACTED:
            continue
        nearest = next(_redactions(needs, types, key), [])
        if len(nearest) != 1:
            code = IssueCode.AMBIGUOUS if nearest else IssueCode.NOT_UPSTREAM
            (place / key / "with" / "source").report(code)


def definition_warnings(value: Mapping[str, Any]) -> list[DefinitionWarning]:
    """Return what is to be said of a definition that is valid, as its author wrote it."""
    steps: Mapping[str, Any] = value["steps"]
    needs = {key: step.get("needs", []) for key, step in steps.items()}
    types = {key: step["type"] for key, step in steps.items()}
    return [
        _missing_source_warning(key, nearest[0])
        for key, step in steps.items()
        if step["type"] == publish.STEP.name and "source" not in step.get("with", {})
        for nearest in [next(_redactions(needs, types, key), [])]
        if nearest
    ]


def _redactions(needs: graph.Needs, types: Mapping[str, str], key: str) -> Iterator[list[str]]:
    for level in graph.by_distance(needs, key):
        found = [each for each in level if types.get(each) == redact_render.STEP.name]
        if found:
            yield found


def _missing_source_warning(key: str, redaction: str) -> DefinitionWarning:
    return DefinitionWarning(
        f"steps.{key}.with.source",
        "original_published",
        f"step {key} comes after the redaction {redaction} and publishes the original, in which"
        f' nothing is hidden: set "source" to "{publish.REDACTED}" to publish the redaction, or'
        f' to "{publish.ORIGINAL}" if the original is meant',
    )
