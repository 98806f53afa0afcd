"""Templates: what is refused when they are created, and what data makes of them."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.composition.layers import InvalidConfig, ReadOptions, read_config, write_config
from framekiln.composition.templates import (
    InvalidData,
    InvalidTemplate,
    fill_template,
    open_template,
    read_template,
    template_schema,
)
from framekiln.composition.templates.budget import TemplateTooCostly

URL = "https://media.example/a.mp4"
# The shape that the specification shows.
CONFIG: dict[str, Any] = {
    "backgroundColor": "#000000FF",
    "dimensions": {"height": 1080, "width": 1920},
    "duration": 5,
    "extension": "mp4",
    "layers": [
        {
            "audio": {"volume": 1},
            "id": "video",
            "position": {"x": "center", "y": "center", "z": 0, "origin": "center"},
            "size": {"format": "fit", "height": 1080, "width": 1920},
            "source": "{{ source }}",
            "timeline": {"start": 0},
            "transitions": [],
            "trim": {"start": 0},
            "type": "video",
        }
    ],
}
INPUTS = {"source": "required|active_url"}
DEFAULTS = {"source": URL}


def text_layer(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "id": "t", "text": {"text": text}, **fields}


def config_of(*layers: dict[str, Any], **top: Any) -> dict[str, Any]:
    canvas = {"width": 64, "height": 64}
    return {"dimensions": canvas, "duration": 2, "layers": list(layers), **top}


def filled(config: dict[str, Any], **data: Any) -> dict[str, Any]:
    inputs = dict.fromkeys(data, "nullable")
    return fill_template(open_template(config, inputs, {}), data).config


def texts(config: dict[str, Any]) -> list[str]:
    return [layer["text"]["text"] for layer in config["layers"]]


@pytest.mark.spec("2.4")
def test_the_example_of_the_specification_is_filled() -> None:
    template = read_template(CONFIG, INPUTS, DEFAULTS)
    assert template.warnings == ()
    made = fill_template(template.template, {"source": "https://media.example/b.mp4"})
    parsed = write_config(read_config(made.config, ReadOptions(is_filled_template=True)).config)
    assert parsed["layers"][0]["file"] == "https://media.example/b.mp4"
    assert parsed["shouldWatermark"] is False
    assert "source" not in parsed["layers"][0]
    assert (parsed["duration"], parsed["extension"]) == (5, "mp4")
    (check,) = made.remote
    assert (check.path, check.rule) == ("data.source", "active_url")


def test_config_inputs_and_defaults_may_be_sent_as_text() -> None:
    assert read_template(json.dumps(CONFIG), INPUTS, DEFAULTS) == read_template(
        CONFIG, INPUTS, DEFAULTS
    )


@pytest.mark.parametrize("value", [5, 1.5, True, "x", [1, 2], {"a": [None]}, None])
def test_a_single_placeholder_keeps_the_type(value: object) -> None:
    for text in ("{{ value }}", "{{value}}", "  {{ value }} "):
        assert filled(config_of(metadata={"a": text}), value=value)["metadata"]["a"] == value


def test_placeholders_in_text_become_text() -> None:
    made = filled(
        config_of(text_layer("{{ n | plus: 1 }} of {{ list | join: '-' }}")), n=1, list=["a", "b"]
    )
    assert texts(made) == ["2 of a-b"]


@pytest.mark.spec("2.4")
@pytest.mark.parametrize(
    ("value", "text"), [(2025, "2025"), (2.5, "2.5"), (True, "true"), (False, "false")]
)
def test_numbers_and_booleans_fill_every_field_that_is_text(value: object, text: str) -> None:
    config = config_of(
        text_layer("{{ value }}", name="{{ value }}"),
        {"type": "text", "text": {"lines": ["{{ value }}", "of {{ value }}"]}},
        {"type": "html", "html": {"page": {"body": "{{ value }}"}}},
        {"type": "html", "html": "{{ value }}"},
        filename="{{ value }}",
        metadata={"as it is": "{{ value }}"},
    )
    options = ReadOptions(is_filled_template=True)
    parsed = write_config(read_config(filled(config, value=value), options).config)
    first, second, third, fourth = parsed["layers"]
    assert (first["text"]["text"], first["name"], parsed["filename"]) == (text, text, text)
    assert second["text"]["text"] == f"{text}\nof {text}"
    assert (third["html"]["page"]["body"], fourth["html"]["page"]) == (text, text)
    assert parsed["metadata"] == {"as it is": value}


def test_lists_and_objects_cannot_fill_text() -> None:
    for value in ([1], {"a": 1}):
        with pytest.raises(InvalidConfig, match=r"layers\.0\.text\.text: must be a string"):
            read_config(
                filled(config_of(text_layer("{{ value }}")), value=value),
                ReadOptions(is_filled_template=True),
            )


def test_values_are_not_interpreted_as_json_or_templates() -> None:
    bad = '"}], "layers": [] {{ other }}'
    made = filled(config_of(text_layer("{{ value }} and {{ value }}")), value=bad, other="x")
    assert texts(made) == [f"{bad} and {bad}"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{ name | upcase }}", "ANN"),
        ("{{ name | append: '!' | prepend: '-' }}", "-Ann!"),
        ("{{ missing | default: 'x' }}", "x"),
        ("{{ price | times: 1.5 | round: 1 }}", 15.0),
        ("{{ price | divided_by: 4.0 }}", 2.5),
        ("{{ day | date: '%d.%m.%Y' }}", "31.12.2024"),
        ("{{ list.size }}{{ list | first }}", "21"),
        ("{% if price > 5 %}much{% else %}little{% endif %}", "much"),
        ("{% for n in list %}{{ n }},{% endfor %}", "1,2,"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{{ name | truncate: 2, '' }}{{ name | url_encode }}", "AnAnn"),
    ],
)
def test_liquid_filters_are_applied(text: str, shown: object) -> None:
    data = {"name": "Ann", "price": 10, "day": "2024-12-31", "list": [1, 2], "missing": None}
    assert filled(config_of(metadata={"a": text}), **data)["metadata"]["a"] == shown


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{{ source", "template_syntax"),
        ("{{ source | shout }}", "template_syntax"),
        ("{% include 'x' %}", "template_syntax"),
        ("{% render 'x' %}", "template_syntax"),
        ("{% if %}", "template_syntax"),
        ("{{ sourc }}", "unknown_input"),
        ("{{ item }}", "unknown_input"),
        ("{{ now }}", "unknown_input"),
        ("{{ 'now' | date: '%Y' }}", "template_syntax"),
        ("{% for i in (1..100000000) %}x{% endfor %}", "template_syntax"),
        ("{{ (1..100000000) | join: 'x' }}", "template_syntax"),
        (
            "{% assign a = 'xxxxxxxxxx' %}{% for i in (1..99) %}{% assign a = a | append: a %}"
            "{% endfor %}",
            "template_syntax",
        ),
        ("{{ source | replace: '', source | replace: '', source }}", "template_syntax"),
    ],
)
def test_placeholders_that_cannot_work_are_refused_at_creation(text: str, code: str) -> None:
    with pytest.raises(InvalidTemplate) as raised:
        read_template(config_of(text_layer(text)), {"source": "string"}, {"source": "x" * 1000})
    assert [(i.path, i.code) for i in raised.value.issues] == [("config.layers.0.text.text", code)]
    assert raised.value.details["issues"][0]["code"] == code


def test_the_nearest_input_is_suggested() -> None:
    with pytest.raises(InvalidTemplate) as raised:
        read_template(config_of(text_layer("{{ sorce }}")), INPUTS, DEFAULTS)
    assert raised.value.issues[0].hint == "did you mean source?"


def test_layers_excluded_by_the_defaults_are_validated() -> None:
    config = config_of(
        text_layer("{{ nobody }}", id="a", when="{{ off }}"),
        text_layer("{{ item.x | nothing }}", id="b", repeat="list"),
    )
    with pytest.raises(InvalidTemplate) as raised:
        read_template(config, {"off": "boolean", "list": "array"}, {"off": False, "list": []})
    assert [issue.path for issue in raised.value.issues] == [
        "config.layers.0.text.text",
        "config.layers.1.text.text",
    ]


@pytest.mark.parametrize(
    ("when", "stays"),
    [
        ("{{ on }}", True),
        ("on", True),
        ("off", False),
        ("{{ empty }}", False),
        ("nothing", False),
        ("zero", False),
        ("count > 2", True),
        ("count > 2 and off", False),
        ("name == 'Ann'", True),
        ("{% if count == 3 %}yes{% endif %}", True),
        ("false", False),
        (True, True),
        (False, False),
        (None, True),
    ],
)
def test_when_keeps_layers_with_a_true_value(when: object, stays: bool) -> None:
    data = {
        "on": True,
        "off": False,
        "empty": "",
        "nothing": None,
        "zero": 0,
        "count": 3,
        "name": "Ann",
    }
    made = filled(config_of(text_layer("x", when=when)), **data)
    assert len(made["layers"]) == stays
    assert all("when" not in layer for layer in made["layers"])


def test_repeat_makes_a_layer_per_item() -> None:
    config = config_of(
        text_layer(
            "{{ index }}: {{ item.name }} of {{ people | size }}",
            repeat="{{ people }}",
            when="item.name != 'Bo'",
            timeline={"start": "{{ index }}"},
        )
    )
    made = filled(config, people=[{"name": "Ann"}, {"name": "Bo"}, {"name": "Cy"}])
    assert texts(made) == ["0: Ann of 3", "2: Cy of 3"]
    assert [layer["id"] for layer in made["layers"]] == ["t-0", "t-2"]
    assert [layer["timeline"]["start"] for layer in made["layers"]] == [0, 2]
    read_config(made)


def test_repeat_within_a_group_and_of_a_list_in_the_config() -> None:
    group = {
        "type": "group",
        "id": "g",
        "repeat": [1, 2],
        "layers": [text_layer("{{ item }}", repeat=["a", "b"])],
    }
    made = filled(config_of(group))
    assert [texts(layer) for layer in made["layers"]] == [["a", "b"], ["a", "b"]]


@pytest.mark.parametrize(("value", "code"), [("x", "type"), (list(range(501)), "out_of_range")])
def test_repeat_needs_a_list_of_at_most_500(value: object, code: str) -> None:
    with pytest.raises(InvalidConfig) as raised:
        filled(config_of(text_layer("x", repeat="value")), value=value)
    assert [(i.path, i.code) for i in raised.value.issues] == [("layers.0.repeat", code)]


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in (1..9999) %}{{ i | append: 'x' }}{% endfor %}" * 20,
        "{% for i in (1..9000) %}{% capture c %}{{ name }}{% endcapture %}{% endfor %}",
        "{{ name " + "| upcase " * 9000 + "}}",
    ],
    ids=["iterations", "output", "filters"],
)
def test_a_template_that_takes_too_many_steps_is_refused(text: str) -> None:
    config = config_of(*[text_layer(text)] * 3)
    with pytest.raises(TemplateTooCostly) as caught:
        read_template(config, {"name": "string"}, {"name": "x" * 1000})
    assert "takes more than 5000000 steps" in caught.value.message
    (issue,) = caught.value.details["issues"]
    assert issue["path"].startswith("config.layers.")
    assert issue["code"] == "out_of_range"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "{% assign n = 10 %}{% for i in (1..60) %}{% assign n = n | times: n %}{% endfor %}",
            "times: the number becomes too large",
        ),
        ("{{ 5 | round: -1000000000 }}", "round: at most 100 digits"),
    ],
)
def test_numbers_do_not_grow_without_limit(text: str, reason: str) -> None:
    with pytest.raises(InvalidTemplate, match=reason):
        read_template(config_of(text_layer(text)), {}, {})


def test_the_number_of_repeats_is_limited() -> None:
    inner = {"type": "group", "repeat": "list", "layers": [text_layer("x", repeat="list")]}
    with pytest.raises(InvalidConfig) as raised:
        filled(config_of(inner), list=list(range(400)))
    assert raised.value.issues[0].code == "out_of_range"


def test_defaults_fill_what_is_absent_but_do_not_satisfy_required() -> None:
    template = read_template(
        config_of(text_layer("{{ a }}/{{ b }}")),
        {"a": "required", "b": "string"},
        {"a": "default a", "b": "default b"},
    ).template
    assert texts(fill_template(template, {"a": "x"}).config) == ["x/default b"]
    with pytest.raises(InvalidData) as raised:
        fill_template(template, {"b": 5})
    assert raised.value.details["errors"] == {
        "data.a": ["a is required"],
        "data.b": ["b must be a string"],
    }
    assert raised.value.code == "invalid_request"


def test_defaults_may_name_other_inputs() -> None:
    template = read_template(
        config_of(text_layer("{{ greeting }}")),
        {"greeting": "string", "name": "string"},
        {"greeting": "Hello {{ name }}", "name": "you"},
    ).template
    assert texts(fill_template(template, {}).config) == ["Hello you"]
    assert texts(fill_template(template, {"name": "{{ x }}"}).config) == ["Hello {{ x }}"]


def test_circular_defaults_are_refused() -> None:
    with pytest.raises(InvalidTemplate) as raised:
        read_template(config_of(), {}, {"a": "{{ b }}", "b": "{{ c }}", "c": "{{ a }}", "d": 1})
    assert {(i.path, i.code) for i in raised.value.issues} == {
        (f"default_values.{name}", "circular") for name in "abc"
    }


@pytest.mark.parametrize(
    ("config", "inputs", "defaults", "path", "code"),
    [
        ("{", {}, {}, "config", "type"),
        ([], {}, {}, "config", "type"),
        (CONFIG, "x", {}, "inputs", "type"),
        (CONFIG, {"source": "requird"}, DEFAULTS, "inputs.source", "unknown_rule"),
        (CONFIG, INPUTS, "x", "default_values", "type"),
        (CONFIG, INPUTS, {"source": "nothing"}, "default_values.source", "not_url"),
        (CONFIG, {"source": "string"}, {"source": "x"}, "config.layers.0.source", "not_url"),
        (config_of({"type": "vidoe"}), {}, {}, "config.layers.0.type", "unknown_layer_type"),
        (config_of(metadata={"a": float("nan")}), {}, {}, "config", "type"),
    ],
)
def test_invalid_templates_are_refused_with_path_and_code(
    config: Any, inputs: Any, defaults: Any, path: str, code: str
) -> None:
    with pytest.raises(InvalidTemplate) as raised:
        read_template(config, inputs, defaults)
    assert [(issue.path, issue.code) for issue in raised.value.issues] == [(path, code)]


@pytest.mark.parametrize(
    "text", ["{{ day.size }}", "{{ 10 | divided_by: day }}", "{% if day contains 1 %}{% endif %}"]
)
def test_texts_that_need_a_value_are_accepted_without_default_values(text: str) -> None:
    read_template(config_of(text_layer(text)), {"day": "required"}, {})


def test_a_template_without_default_values_is_accepted() -> None:
    assert read_template(CONFIG, INPUTS, {}).template.names == {"source"}
    assert read_template(CONFIG, INPUTS, []).template.names == {"source"}


@pytest.mark.parametrize("data", [None, 5, "x", ["a"]])
def test_data_must_be_an_object(data: object) -> None:
    with pytest.raises(InvalidData):
        fill_template(read_template(CONFIG, INPUTS, DEFAULTS).template, data)


def test_unknown_data_causes_a_warning_only() -> None:
    template = read_template(CONFIG, INPUTS, DEFAULTS).template
    (warning,) = fill_template(template, {"source": URL, "soruce": 1}).warnings
    assert (warning.path, warning.code) == ("data.soruce", "unknown_field")
    assert warning.hint == "did you mean source?"


def test_a_missing_value_names_the_one_that_was_probably_meant() -> None:
    inputs = {"name": "required", "email": "required", "colour": "required|color"}
    template = open_template(config_of(text_layer("{{ name }}")), inputs, {})
    with pytest.raises(InvalidData) as raised:
        fill_template(template, {"Name": "Ada", "E-Mail": "a@b", "colour": "greenish"})
    assert raised.value.details["errors"] == {
        "data.name": ["name is required; Name is not an input: call it name"],
        "data.email": ["email is required; E-Mail is not an input: call it email"],
        "data.colour": ["colour must be a CSS colour"],
    }


def test_a_config_that_was_not_checked_causes_a_warning() -> None:
    wrong = config_of({"type": "txt", "text": {"text": "{{ name }}"}})
    (warning,) = read_template(wrong, {"name": "required"}, {}).warnings
    assert (warning.path, warning.code) == ("default_values", "not_checked")
    assert "there is none for name" in warning.message
    with pytest.raises(InvalidTemplate):
        read_template(wrong, {"name": "required"}, {"name": "Ada"})


def test_a_template_has_a_json_schema() -> None:
    inputs = {
        "source": "required|active_url",
        "title": "nullable|string|max:20",
        "width": "integer|between:2,4096|multiple_of:2",
        "kind": "in:a,b",
        "items": "array|min:1|distinct",
        "items.*.image": "required|url",
        "code": ["string", "regex:/^(a|b)$/"],
    }
    schema = template_schema(open_template(CONFIG, inputs, DEFAULTS))
    assert schema["required"] == ["source"]
    assert schema["examples"] == [DEFAULTS]
    assert schema["properties"] == {
        "source": {"type": "string", "format": "uri", "default": URL},
        "title": {"type": ["string", "null"], "maxLength": 20},
        "width": {"type": "integer", "minimum": 2, "maximum": 4096, "multipleOf": 2},
        "kind": {"enum": ["a", "b"]},
        "items": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {
                "type": "object",
                "properties": {"image": {"type": "string", "format": "uri"}},
                "required": ["image"],
            },
        },
        "code": {"type": "string", "pattern": "^(a|b)$"},
    }


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        [
            "{{ a }}",
            "{{",
            "{% if a %}",
            "{{ a.b | plus: 1 }}",
            "{{ a | date: '%Y' }}",
            "{{ a | divided_by: 0 }}",
            "{{ a | round: b }}",
            "required|min:3",
        ]
    ),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["a", "b", "layers", "when", "repeat", "text", "id"]), inner, max_size=4
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(JSON, JSON, JSON, JSON)
def test_any_data_is_filled_in_or_refused(
    config: Any, inputs: Any, defaults: Any, data: Any
) -> None:
    with suppress(InvalidTemplate):
        read_template(config, inputs, defaults)
    with suppress(InvalidTemplate, InvalidData, InvalidConfig):
        template = open_template({"a": config}, {"a": "nullable", "b": "nullable"}, {})
        fill_template(template, {"a": data, "b": inputs})
