"""Values with the types that the rules of their inputs name."""

from typing import Any

import pytest

from framekiln.composition.layers import InvalidConfig, ReadOptions, read_config, write_config
from framekiln.composition.templates import fill_template, open_template


def text_layer(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": {"text": text}, **fields}


def filled(
    inputs: dict[str, str],
    *layers: dict[str, Any],
    defaults: dict[str, Any] | None = None,
    **data: Any,
) -> list[dict[str, Any]]:
    canvas = {"width": 64, "height": 64}
    config = {"dimensions": canvas, "duration": 2, "layers": list(layers)}
    made = fill_template(open_template(config, inputs, defaults or {}), data)
    options = ReadOptions(is_filled_template=True)
    found: list[dict[str, Any]] = write_config(read_config(made.config, options).config)["layers"]
    return found


def texts(layers: list[dict[str, Any]]) -> list[str]:
    return [layer["text"]["text"] for layer in layers]


@pytest.mark.parametrize(
    ("value", "is_on"),
    [
        *[(value, True) for value in ("true", "1", 1, True)],
        *[(value, False) for value in ("false", "0", 0, False)],
    ],
)
def test_a_boolean_input_is_a_boolean_in_conditions_and_fields(value: object, is_on: bool) -> None:
    coloured = text_layer("{% if flag %}red{% else %}blue{% endif %}", visible="{{ flag }}")
    made = filled({"flag": "boolean"}, coloured, text_layer("kept", when="flag"), flag=value)
    assert texts(made) == (["red", "kept"] if is_on else ["blue"])
    assert made[0]["visible"] is is_on


@pytest.mark.parametrize("rule", ["boolean", "integer", "numeric"])
@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_text_for_a_boolean_or_number_is_null(rule: str, blank: str) -> None:
    layer = text_layer("{% if x %}set{% else %}not set{% endif %}", opacity="{{ x }}")
    made = filled({"x": rule}, layer, text_layer("kept", when="x"), x=blank)
    assert texts(made) == ["not set"]
    assert made[0]["opacity"] == 1


@pytest.mark.parametrize("rule", ["integer", "numeric"])
@pytest.mark.parametrize("value", ["5", "005", "5.0", 5])
def test_numbers_in_texts_are_compared_as_numbers_and_printed_as_sent(
    rule: str, value: object
) -> None:
    made = filled(
        {"n": rule},
        text_layer("{% if n == 5 %}five{% endif %} {{ n }} {{ n | default: 1 }}", name="{{ n }}"),
        text_layer("more", when="n > 3"),
        text_layer("less", when="n < 3"),
        n=value,
    )
    assert texts(made) == [f"five {value} {value}", "more"]
    assert made[0]["name"] == str(value)


def test_a_comparison_of_a_text_with_a_number_names_the_rule_for_numbers() -> None:
    with pytest.raises(InvalidConfig, match=r"compares a text with a number.* rule numeric"):
        filled({"x": "required"}, text_layer("{% if x > 3 %}more{% endif %}"), x="abc")


def test_the_default_filter_keeps_the_text_0_of_a_number() -> None:
    assert texts(filled({"n": "integer"}, text_layer("{{ n | default: 5 }}"), n="0")) == ["0"]


def test_values_in_lists_have_the_types_of_their_rules() -> None:
    row = text_layer("{{ item.n }}", repeat="rows", when="item.n > 3")
    inputs = {"rows": "array", "rows.*.n": "numeric"}
    assert texts(filled(inputs, row, rows=[{"n": "2"}, {"n": "4.50"}])) == ["4.50"]


def test_a_number_that_is_also_a_string_stays_text() -> None:
    layer = text_layer("{% if n == '5' %}text{% endif %}")
    assert texts(filled({"n": "string|integer"}, layer, n="5")) == ["text"]


def test_default_values_have_the_types_of_their_rules() -> None:
    made = filled(
        {"flag": "boolean", "shade": "string"},
        text_layer("{% if flag %}red{% else %}blue{% endif %} {{ shade }}"),
        defaults={"flag": "false", "shade": "{% if flag %}dark{% else %}light{% endif %}"},
    )
    assert texts(made) == ["blue light"]
