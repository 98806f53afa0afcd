"""The published JSON Schema and the reader agree on what a config may hold."""

import copy
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.composition.layers import InvalidConfig, read_config, write_config
from framekiln.composition.layers.config_json import CONFIG_SCHEMA
from framekiln.composition.layers.json_schema import Definitions
from framekiln.composition.layers.values import LayerType
from framekiln.composition.templates import InvalidTemplate, read_template
from tests.unit.composition.layers.test_config_properties import JSON, LAYERS, NAMES, QUICK

ROOT = Path(__file__).resolve().parents[4]
CANVAS = {"dimensions": {"width": 640, "height": 360}, "duration": 5}


def validator(*, is_template: bool = False) -> Any:
    definitions = Definitions(is_template=is_template)
    schema = CONFIG_SCHEMA.json_schema(definitions)
    return jsonschema_rs.validator_for({**schema, "$defs": definitions.named})


CONFIGS = validator()
TEMPLATES = validator(is_template=True)


def blocks() -> Iterator[Any]:
    """Every JSON object that the documentation shows."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"^```json\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
            try:
                yield json.loads(block)
            except ValueError:
                continue  # Shortened with an ellipsis.


def examples() -> Iterator[dict[str, Any]]:
    """Configs of the documentation and of the films that tests make, and single layers in one."""
    for block in blocks():
        found = block.get("config", block) if isinstance(block, dict) else {}
        if isinstance(found, dict) and found.get("type") in list(LayerType):
            yield {**CANVAS, "layers": [found]}
        elif isinstance(found, dict) and isinstance(found.get("layers"), list):
            yield {**CANVAS, **found}
    for path in sorted((ROOT / "tests/e2e/videos").glob("*/config.json")):
        yield json.loads(path.read_text("utf-8"))


# What is text to a schema, and more to the reader.
BEYOND_SCHEMA = re.compile("holds characters|no lottie|one CSS value|SVG path|must not be empty")


class Outcome(StrEnum):
    """What the reader says of a config."""

    CLEAN = "clean"
    WARNED = "warned"
    WRONG_TYPE = "wrong type"
    REFUSED = "refused for another reason"


def outcome_of(config: Any) -> Outcome:
    try:
        return Outcome.WARNED if read_config(config).warnings else Outcome.CLEAN
    except InvalidConfig as error:
        wrong = [each.message for each in error.issues if each.code == "type"]
    is_seen = any(not BEYOND_SCHEMA.search(message) for message in wrong)
    return Outcome.WRONG_TYPE if is_seen else Outcome.REFUSED


GOOD = [each for each in examples() if outcome_of(each) is Outcome.CLEAN]
SMALL = [each for each in GOOD if len(each["layers"]) == 1]


def test_there_are_examples_of_every_type() -> None:
    assert len(GOOD) > 40
    assert {each["layers"][0]["type"] for each in SMALL} == set(LayerType)


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_configs_read_without_warnings_match_the_schema(number: int) -> None:
    CONFIGS.validate(GOOD[number])
    TEMPLATES.validate(GOOD[number])
    CONFIGS.validate(write_config(read_config(GOOD[number]).config))


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for name, inner in inside:
        yield (*at, name)
        if isinstance(inner, dict | list):
            yield from places(inner, (*at, name))


def with_other_values(config: Any) -> Iterator[Any]:
    """Yield the config with one value of another type, at every place."""
    for *way, last in places(config):
        for other in (True, 7, "other", [3], {"other": 3}):
            changed = copy.deepcopy(config)
            reduce(getitem, way, changed)[last] = other
            yield changed


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_values_of_wrong_types_are_refused_by_both(number: int) -> None:
    refused = 0
    for changed in with_other_values(SMALL[number]):
        outcome = outcome_of(changed)
        if outcome is Outcome.WRONG_TYPE:
            refused += 1
            assert not CONFIGS.is_valid(changed), changed
        elif outcome is not Outcome.REFUSED:
            CONFIGS.validate(changed)
    assert refused > 10


@QUICK
@given(st.lists(LAYERS, max_size=4), st.dictionaries(NAMES, JSON, max_size=3))
def test_generated_configs_read_without_warnings_match_the_schema(layers: Any, top: Any) -> None:
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 3, **top, "layers": layers}
    if outcome_of(config) is Outcome.CLEAN:
        CONFIGS.validate(config)


def templates() -> list[dict[str, Any]]:
    shown = [each for each in blocks() if isinstance(each, dict) and "inputs" in each]
    paths = sorted((ROOT / "tests/e2e/videos").glob("*/template.json"))
    return [*shown, *(json.loads(path.read_text("utf-8")) for path in paths)]


@pytest.mark.parametrize("template", templates(), ids=lambda each: each["name"])
def test_configs_of_templates_match_the_template_schema(template: dict[str, Any]) -> None:
    assert read_template(template["config"], template["inputs"], template["default_values"])
    TEMPLATES.validate(template["config"])


def test_templates_may_have_liquid_and_numbers_as_text() -> None:
    layer: dict[str, Any] = {
        "type": "text",
        "text": {"text": 5, "fontSize": "{{ size }}"},
        "when": "{{ size }}",
    }
    config = {"dimensions": {"width": "64", "height": 64}, "duration": "3", "layers": [layer]}
    assert read_template(config, {"size": "numeric"}, {"size": 12})
    TEMPLATES.validate(config)
    assert not CONFIGS.is_valid(config)
    layer["text"] = 5
    with pytest.raises(InvalidTemplate):
        read_template(config, {"size": "numeric"}, {"size": 12})
    assert not TEMPLATES.is_valid(config)
