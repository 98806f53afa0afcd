"""Default values of inputs that a caller omitted. They may refer to other inputs."""

from collections.abc import Iterator, Mapping
from typing import Any

from framekiln.composition.layers.findings import ConfigFinding
from framekiln.composition.templates.budget import WorkBudget
from framekiln.composition.templates.filler import TemplateFiller
from framekiln.composition.templates.inputs import Inputs
from framekiln.composition.templates.liquid_error import TemplateLiquidError
from framekiln.composition.templates.liquid_text import holds_liquid, parse
from framekiln.composition.templates.typed_values import typed_values


def fill_defaults(
    defaults: Mapping[str, Any],
    names: frozenset[str],
    *,
    inputs: Inputs,
    budget: WorkBudget,
    given: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], list[ConfigFinding]]:
    """Return a value for every name (given, default, or null) and the errors of defaults.

    Given values are never filled in: a caller's data cannot contain placeholders.
    """
    values: dict[str, Any] = {**dict.fromkeys(names), **typed_values(inputs, given or {})}
    waiting = {name: value for name, value in defaults.items() if name not in (given or {})}
    filler = TemplateFiller(names, budget)
    while waiting:
        ready = [name for name in waiting if not _needs(waiting[name]) & waiting.keys()]
        if not ready:
            faults = [
                ConfigFinding(
                    f"default_values.{name}", "circular", "names itself through other inputs"
                )
                for name in sorted(waiting)
            ]
            return values, filler.issues + faults
        for name in ready:
            found = filler.fill(waiting.pop(name), values, f"default_values.{name}")
            values |= typed_values(inputs, {name: found})
    return values, filler.issues


def _needs(value: Any) -> set[str]:
    needed: set[str] = set()
    for text in _texts(value):
        try:
            needed |= parse(text).names
        except TemplateLiquidError:
            continue  # Reported when it is filled.
    return needed


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if holds_liquid(value):
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
