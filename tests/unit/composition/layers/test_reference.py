"""The reference page keeps up with the schema: every field and word; its examples are good."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from framekiln.composition.layers import (
    config_json,
    filters,
    html_type,
    layer_schemas,
    styles,
    transition_type,
)
from framekiln.composition.layers.config_json import read_config
from framekiln.composition.layers.field_types import ChoiceType
from framekiln.composition.layers.filters import FilterName
from framekiln.composition.layers.layer_fields import EVERY_LAYER
from framekiln.composition.layers.schema import Schema
from framekiln.composition.layers.values import LayerType

PAGE = Path(__file__).resolve().parents[4] / "docs" / "api" / "layers.md"
TEXT = PAGE.read_text("utf-8")
NAMED = set(re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", TEXT, flags=re.M | re.S)))
EXAMPLES = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", TEXT, re.M | re.S)]
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", TEXT, re.M | re.S))


def schemas_in(value: object, seen: set[int]) -> Iterator[Schema[Any]]:
    """Every schema that can be reached: through fields, kinds and collections of them."""
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    if isinstance(value, Schema):
        yield value
    parts: list[object] = []
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif is_dataclass(value):
        parts = [getattr(value, each.name) for each in fields(value)]
    for part in parts:
        yield from schemas_in(part, seen)


def all_schemas() -> list[Schema[Any]]:
    modules = (config_json, layer_schemas, styles, html_type, transition_type, filters)
    seen: set[int] = set()
    return [found for module in modules for found in schemas_in(vars(module), seen)]


def field_names() -> set[str]:
    options = {field.name for name in FilterName for field in filters._option_fields(name)}
    inside = {"start", "body", "styles", "width", "height", "scale1", "scale2", "x1", "y2"}
    return {field.name for schema in all_schemas() for field in schema.fields} | options | inside


def words() -> set[str]:
    """What can be chosen from, in fields of the schema."""
    kinds = {
        field.field_type.words
        for schema in all_schemas()
        for field in schema.fields
        if isinstance(field.field_type, ChoiceType)
    }
    chosen: set[type[StrEnum]] = {LayerType, FilterName, *kinds}
    return {member.value for kind in chosen for member in kind} | set(transition_type.TYPES)


def test_schemas_are_found() -> None:
    assert len(all_schemas()) > 30
    assert {"onError", "chromaKey", "similarity", "letterSpacing", "videoBitrate"} <= field_names()


def test_every_field_is_described() -> None:
    assert field_names() - NAMED == set()


def test_every_word_is_described() -> None:
    assert words() - NAMED == set()


@pytest.mark.parametrize("kind", LayerType)
def test_every_type_has_an_example_that_shows_it(kind: LayerType) -> None:
    [example] = re.findall(r"^```json\n(.*?)^```$", SECTIONS[kind.value], re.M | re.S)
    assert json.loads(example)["type"] == kind.value


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_are_read_without_a_warning(number: int) -> None:
    example = EXAMPLES[number]
    if "topic" in example:
        return
    config = example if "layers" in example and "type" not in example else {"layers": [example]}
    config = {"dimensions": {"width": 640, "height": 360}, "duration": 5, **config}
    assert read_config(config).warnings == ()


def test_common_fields_of_layers_are_in_the_reference() -> None:
    table = TEXT.split("## Every layer")[1].split("### position")[0]
    for field in EVERY_LAYER:
        assert f"| `{field.name}` |" in table, field.name
