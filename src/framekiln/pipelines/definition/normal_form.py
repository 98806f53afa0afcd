"""The one way to write a definition: defaults recorded; needs, kinds and formats sorted.

It is what is stored and given back, itself a valid definition, and what the digest is made of. Two
definitions that mean the same have the same normal form, whatever was left out or shuffled.
"""

from collections.abc import Mapping
from typing import Any

from framekiln.kit.canonical_json import sha256_digest
from framekiln.pipelines.definition.model import Definition, Segmentation, Step
from framekiln.pipelines.definition.predicate import (
    AllOf,
    AnyOf,
    Comparison,
    Not,
    Operator,
    Predicate,
)
from framekiln.pipelines.definition.step_rules import StepRules
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.schema.records import as_json


def normal_form(definition: Definition) -> dict[str, Any]:
    """Return the definition as JSON."""
    return {"steps": {key: _step(step) for key, step in definition.steps.items()}}


def digest(definition: Definition) -> str:
    """Return `sha256:<hex>`; equivalent definitions have equal digests."""
    return sha256_digest(normal_form(definition))


def load(stored: dict[str, Any], types: Mapping[str, StepRules]) -> Definition:
    """Return the definition whose normal form was stored."""
    definition = validate(stored, types)
    assert isinstance(definition, Definition), f"a stored definition is invalid: {definition}"
    return definition


def _step(step: Step) -> dict[str, Any]:
    written: dict[str, Any] = {
        "type": step.type,
        "needs": list(step.needs),
        "namespace": step.namespace,
        "granularity": _granularity(step.segmentation),
    }
    if step.settings is not None:
        written["with"] = as_json(step.settings)
    if step.when is not None:
        written["when"] = _predicate(step.when)
    return written


def _granularity(segmentation: Segmentation | None) -> dict[str, Any]:
    return (
        {"mode": "file"} if segmentation is None else {"mode": "segment", **as_json(segmentation)}
    )


def _predicate(predicate: Predicate) -> dict[str, Any]:
    match predicate:
        case AllOf(parts):
            return {"all": [_predicate(part) for part in parts]}
        case AnyOf(parts):
            return {"any": [_predicate(part) for part in parts]}
        case Not(part):
            return {"not": _predicate(part)}
        case Comparison(path, op, value):
            leaf: dict[str, Any] = {"path": ".".join(path), "op": str(op)}
            if op not in (Operator.EXISTS, Operator.NON_EMPTY):
                leaf["value"] = as_json(value)
            return leaf
