"""The published JSON schema of definitions: what it accepts, and what it refuses."""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.steps import STEP_TYPES
from tests.support.api_document import api_document
from tests.unit.pipelines.definitions import ENDPOINT_ID, endpoint

DOCS = Path(__file__).parents[3] / "docs"
PROBE: dict[str, Any] = {"type": "probe"}
WHEN = {"path": "p.metadata.a", "op": "exists"}


@cache
def schema() -> Any:
    published = api_document()
    reference = "#/components/schemas/PipelineDefinition"
    return jsonschema_rs.validator_for({"$ref": reference, "components": published["components"]})


def is_accepted(definition: Any) -> bool:
    return isinstance(validate(definition, STEP_TYPES), Definition)


def documented() -> list[Any]:
    """Return every definition in the docs that is written out: in JSON, or in Python."""
    found: list[Any] = []
    for page in sorted(DOCS.rglob("*.md")):
        for language, block in re.findall(r"```(sh|json|python)\n(.*?)```", page.read_text(), re.S):
            read = python_definitions if language == "python" else json_definitions
            found += read(block)
    return found


def json_definitions(block: str) -> Iterator[Any]:
    for match in re.finditer(r'\{"steps": \{\s*"', block):
        yield json.JSONDecoder().raw_decode(block[match.start() :])[0]


def python_definitions(block: str) -> Iterator[Any]:
    nodes = list(ast.walk(ast.parse(block)))
    parts = {
        ast.unparse(node.targets[0]): node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    }
    for node in nodes:
        if isinstance(node, ast.Dict) and ast.unparse(node).startswith("{'steps':"):
            yield ast.literal_eval(_Unpacked(parts).visit(node))


class _Unpacked(ast.NodeTransformer):
    """Writes out `**name` where the name stands for a dictionary of the same block."""

    def __init__(self, parts: dict[str, ast.Dict]) -> None:
        self._parts = parts

    def visit_Dict(self, node: ast.Dict) -> ast.Dict:
        keys: list[ast.expr | None] = []
        values: list[ast.expr] = []
        for key, value in zip(node.keys, node.values, strict=True):
            inner = self._parts[ast.unparse(value)] if key is None else None
            keys += inner.keys if inner else [key]
            values += inner.values if inner else [self.visit(value)]
        return ast.Dict(keys, values)


def test_definitions_in_the_docs_pass_validator_and_schema() -> None:
    found = documented()
    assert len(found) >= 3
    for definition in found:
        assert is_accepted(definition), definition
        assert schema().is_valid(definition), definition


def steps(**written: Any) -> dict[str, Any]:
    return {"steps": {"p": PROBE, **written}}


def filtered(when: Any) -> dict[str, Any]:
    return steps(a={"type": "filter", "needs": ["p"], "when": when})


def segmented(**granularity: Any) -> dict[str, Any]:
    return steps(a={"type": "transcribe", "granularity": {"mode": "segment", **granularity}})


@pytest.mark.parametrize(
    "definition",
    [
        None,
        {},
        {"steps": []},
        {"steps": {}},
        {"steps": {f"s{n}": PROBE for n in range(65)}},
        {"steps": {"p": PROBE}, "name": "x"},
        {"steps": {"": PROBE}},
        {"steps": {"a" * 64: PROBE}},
        steps(a=5),
        steps(a={}),
        steps(a={"type": "nonsense"}),
        steps(a={"type": "probe", "key": "a"}),
        steps(a={"type": "probe", "needs": "p"}),
        steps(a={"type": "probe", "needs": [1]}),
        steps(a={"type": "probe", "needs": ["p", "p"]}),
        steps(a={"type": "probe", "needs": ["p"] * 17}),
        steps(a={"type": "probe", "namespace": "A"}),
        steps(a={"type": "probe", "namespace": None}),
        steps(a={"type": "probe", "granularity": None}),
        steps(a={"type": "probe", "granularity": {}}),
        steps(a={"type": "probe", "granularity": {"mode": "all"}}),
        steps(a={"type": "probe", "granularity": {"mode": "segment", "window_ms": 1000}}),
        steps(a={"type": "transcribe", "granularity": {"mode": "file", "window_ms": 1000}}),
        segmented(),
        segmented(window_ms=999),
        segmented(window_ms=1000.5),
        segmented(window_ms=1000, overlap_ms=-1),
        segmented(window_ms=1000, step_ms=1),
        steps(a={"type": "filter", "needs": ["p"]}),
        steps(a={"type": "probe", "when": WHEN}),
        steps(a={"type": "transcribe", "with": {}}),
        steps(a={"type": "publish", "with": None}),
        steps(a={"type": "publish", "with": {"formats": []}}),
        steps(a={"type": "publish", "with": {"formats": ["hls", "hls"]}}),
        steps(a={"type": "publish", "with": {"source": "blurred"}}),
        steps(a={"type": "sample_frames", "with": {"every_ms": 99}}),
        steps(a={"type": "sample_frames", "with": {"every_ms": True}}),
        steps(a={"type": "detect_scenes", "with": {"threshold": 1.01}}),
        steps(a={"type": "endpoint"}),
        steps(a={"type": "endpoint", "with": {"endpoint_id": 7}}),
        steps(a={"type": "redact_render", "with": {"kinds": ["k" * 129]}}),
        steps(a={"type": "review", "with": {"instructions": ""}}),
        filtered(None),
        filtered({"all": []}),
        filtered({"any": [WHEN] * 17}),
        filtered({"all": [WHEN], "any": [WHEN]}),
        filtered({"not": {**WHEN, "extra": 1}}),
        filtered({"op": "exists"}),
        filtered({**WHEN, "op": "like"}),
        filtered({**WHEN, "path": "p.other.a"}),
        filtered({**WHEN, "path": "p.annotations.kind"}),
        filtered({**WHEN, "op": "eq"}),
        filtered({**WHEN, "op": "eq", "value": [1]}),
        filtered({**WHEN, "op": "gt", "value": "5"}),
        filtered({**WHEN, "op": "in", "value": []}),
    ],
)
def test_validator_and_schema_refuse_the_same_definitions(definition: Any) -> None:
    assert not is_accepted(definition)
    assert not schema().is_valid(definition)


@pytest.mark.parametrize(
    "definition",
    [
        steps(a=endpoint("nobody")),
        steps(a=endpoint("a")),
        steps(a={"type": "probe", "namespace": "p"}),
        steps(a={"type": "publish", "with": {"source": "redacted"}}),
        segmented(window_ms=1000, overlap_ms=501),
        filtered({**WHEN, "path": "q.metadata.a"}),
        filtered({**WHEN, "path": "p.metadata" + ".a" * 15}),
        filtered({"not": {"not": {"not": {"not": WHEN}}}}),
        steps(a={"type": "review", "with": {"instructions": "\0"}}),
        steps(a={"type": "endpoint", "with": {"endpoint_id": f"{ENDPOINT_ID}0"}}),
    ],
)
def test_rules_beyond_the_schema_are_checked_by_the_validator(definition: Any) -> None:
    assert not is_accepted(definition)
    assert schema().is_valid(definition)
