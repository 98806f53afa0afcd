"""Equivalent definitions have one normal form and one digest."""

import hashlib
import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.normal_form import digest, load, normal_form
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.steps import STEP_TYPES
from tests.unit.pipelines.definitions import ENDPOINT_ID, definitions, predicates


def read(value: Any) -> Definition:
    definition = validate(value, STEP_TYPES)
    assert isinstance(definition, Definition), definition
    return definition


@pytest.mark.spec("2.11")
def test_defaults_are_recorded_and_sets_sorted() -> None:
    definition = {
        "steps": {
            "z": {"type": "sample_frames"},
            "a": {
                "type": "endpoint",
                "needs": ["z"],
                "with": {"endpoint_id": ENDPOINT_ID.upper()},
                "granularity": {"mode": "segment", "window_ms": 2000},
            },
            "b": {"type": "redact_render", "needs": ["z", "a"], "with": {"kinds": ["f", "c"]}},
            "c": {"type": "publish", "namespace": "out", "with": {"formats": ["hls", "dash"]}},
            "f": {
                "type": "filter",
                "needs": ["a"],
                "when": {"not": {"path": "a.metadata.n", "op": "in", "value": [2.0, "x"]}},
            },
            "r": {"type": "review", "with": {"instructions": "look"}},
        }
    }
    file = {"mode": "file"}
    assert normal_form(read(definition)) == {
        "steps": {
            "z": {
                "type": "sample_frames",
                "needs": [],
                "namespace": "z",
                "granularity": file,
                "with": {"every_ms": 1000},
            },
            "a": {
                "type": "endpoint",
                "needs": ["z"],
                "namespace": "a",
                "granularity": {"mode": "segment", "window_ms": 2000, "overlap_ms": 0},
                "with": {"endpoint_id": ENDPOINT_ID, "max_concurrency": 8},
            },
            "b": {
                "type": "redact_render",
                "needs": ["a", "z"],
                "namespace": "b",
                "granularity": file,
                "with": {"kinds": ["c", "f"]},
            },
            "c": {
                "type": "publish",
                "needs": [],
                "namespace": "out",
                "granularity": file,
                "with": {"formats": ["dash", "hls"], "source": "original"},
            },
            "f": {
                "type": "filter",
                "needs": ["a"],
                "namespace": "f",
                "granularity": file,
                "when": {"not": {"path": "a.metadata.n", "op": "in", "value": [2, "x"]}},
            },
            "r": {
                "type": "review",
                "needs": [],
                "namespace": "r",
                "granularity": file,
                "with": {
                    "instructions": "look",
                    "expires_after_ms": 604_800_000,
                    "on_expiry": "fail",
                },
            },
        }
    }


@pytest.mark.spec("9")
def test_the_digest_is_that_of_the_canonical_json() -> None:
    definition = read({"steps": {"a": {"type": "probe"}}})
    written = (
        b'{"steps":{"a":{"granularity":{"mode":"file"},"namespace":"a","needs":[],"type":"probe"}}}'
    )
    # Digests are stored and compared for ever: the form may never change.
    assert digest(definition) == f"sha256:{hashlib.sha256(written).hexdigest()}"


@settings(deadline=None, max_examples=50)
@given(definitions())
def test_a_normal_form_reads_back_as_the_same_definition(written: dict[str, Any]) -> None:
    definition = read(written)
    assert load(normal_form(definition), STEP_TYPES) == definition
    assert normal_form(load(normal_form(definition), STEP_TYPES)) == normal_form(definition)


@settings(deadline=None, max_examples=50)
@given(definitions(), st.integers())
@pytest.mark.spec("2.11")
def test_order_and_written_defaults_do_not_matter(written: dict[str, Any], seed: int) -> None:
    rng = random.Random(seed)
    full = normal_form(read(written))
    other = shuffled(written_out(written, full, rng), rng)
    assert digest(read(other)) == digest(read(written))


@settings(deadline=None, max_examples=50)
@given(definitions(), definitions())
def test_different_definitions_have_different_digests(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert (digest(read(one)) == digest(read(other))) == (read(one) == read(other))


@settings(deadline=None, max_examples=50)
@given(predicates(["p"]))
def test_a_predicate_is_unchanged_in_the_normal_form(when: dict[str, Any]) -> None:
    steps = {"p": {"type": "probe"}, "f": {"type": "filter", "needs": ["p"], "when": when}}
    assert normal_form(read({"steps": steps}))["steps"]["f"]["when"] == when


def written_out(written: dict[str, Any], full: dict[str, Any], rng: random.Random) -> Any:
    """Return the definition with some defaults written, and numbers as other clients write them."""
    result = deepcopy(written)
    for key, step in result["steps"].items():
        for name, value in full["steps"][key].items():
            if name not in step and rng.random() < 0.5:
                step[name] = deepcopy(value)
        for name, value in full["steps"][key].get("with", {}).items():
            if "with" in step and name not in step["with"] and rng.random() < 0.5:
                step["with"][name] = deepcopy(value)
        for name, value in step.get("with", {}).items():
            if isinstance(value, int) and rng.random() < 0.5:
                step["with"][name] = float(value)
    return result


def shuffled(value: Any, rng: random.Random, name: str = "") -> Any:
    if isinstance(value, dict):
        items = [(key, shuffled(each, rng, key)) for key, each in value.items()]
        rng.shuffle(items)
        return dict(items)
    if isinstance(value, list) and name in ("needs", "kinds", "formats"):
        return rng.sample(value, len(value))
    return value
