"""Layers that are repeated or left out, and what refers to them."""

from typing import Any

from framekiln.composition.layers import ReadOptions, read_config
from framekiln.composition.templates import fill_template, open_template


def text_layer(**fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": {"text": "x"}, **fields}


def filled(*layers: dict[str, Any], **data: Any) -> list[dict[str, Any]]:
    canvas = {"width": 64, "height": 64}
    config = {"dimensions": canvas, "duration": 2, "layers": list(layers)}
    template = open_template(config, dict.fromkeys(data, "nullable"), {})
    made = fill_template(template, data).config
    read_config(made, ReadOptions(is_filled_template=True))
    found: list[dict[str, Any]] = made["layers"]
    return found


def ids(layers: list[dict[str, Any]]) -> list[Any]:
    return [
        (layer["id"], ids(layer["layers"])) if "layers" in layer else layer["id"]
        for layer in layers
    ]


def starts(layers: list[dict[str, Any]]) -> list[Any]:
    return [layer["timeline"]["start"] for layer in layers if "timeline" in layer]


def test_layers_in_a_repeated_group_have_ids_of_their_own() -> None:
    group = {"type": "group", "id": "g", "repeat": [1, 2], "layers": [text_layer(id=7)]}
    assert ids(filled(group)) == [("g-0", ["7-0"]), ("g-1", ["7-1"])]


def test_layers_of_nested_repeats_have_ids_of_their_own() -> None:
    inner = {"type": "group", "id": "i", "repeat": [1, 2], "layers": [text_layer(id="t")]}
    outer = {"type": "group", "id": "o", "repeat": [1, 2], "layers": [inner]}
    assert ids(filled(outer)) == [
        ("o-0", [("i-0-0", ["t-0-0"]), ("i-1-0", ["t-1-0"])]),
        ("o-1", [("i-0-1", ["t-0-1"]), ("i-1-1", ["t-1-1"])]),
    ]


def test_layers_in_a_copy_refer_to_those_of_the_same_copy() -> None:
    music = {
        "type": "audio",
        "file": "https://media.example/a.mp3",
        "audio": {"duck": {"under": ["a", "outside"], "amount": 0.5}},
    }
    later = text_layer(id="b", timeline={"start": "after:a + 0.5"})
    group = {
        "type": "group",
        "repeat": [1, 2],
        "layers": [text_layer(id="a"), later, text_layer(timeline={"start": "with:b"}), music],
    }
    _, first, second = filled(text_layer(id="outside"), group)
    assert starts(first["layers"]) == ["after:a-0+0.5", "with:b-0"]
    assert starts(second["layers"]) == ["after:a-1+0.5", "with:b-1"]
    assert second["layers"][3]["audio"]["duck"] == {"under": ["a-1", "outside"], "amount": 0.5}


def test_a_copy_may_follow_the_copy_before_it() -> None:
    start = "{% if index == 0 %}with:first{% else %}after:t-{{ index | minus: 1 }}{% endif %}"
    repeated = text_layer(id="t", repeat=[1, 2, 3], timeline={"start": start}, trim={"end": 1})
    assert starts(filled(text_layer(id="first"), repeated)) == [
        *("with:first", "after:t-0", "after:t-1")
    ]


def test_a_layer_that_is_left_out_counts_as_empty_at_its_start() -> None:
    made = filled(
        text_layer(id="z"),
        text_layer(id="a", when="on", timeline={"start": "{{ begin }}"}),
        text_layer(id="b", when="on", timeline={"start": "after:z+0.25"}),
        text_layer(id="c", when="on", timeline={"start": "after:a+0.5"}),
        text_layer(id="d", when="on"),
        *(text_layer(timeline={"start": f"after:{name}+0.1"}) for name in "abcd"),
        on=False,
        begin=1,
    )
    assert starts(made) == [1.1, "after:z+0.35", 1.6, 0.1]


def test_copies_that_are_left_out_count_as_empty() -> None:
    start = "{% if index == 0 %}1{% else %}after:t-{{ index | minus: 1 }}{% endif %}"
    repeated = text_layer(
        id="t", repeat=[1, 0, 1], when="item == 1", timeline={"start": start}, trim={"end": 0.5}
    )
    assert starts(filled(repeated)) == ["1", "after:t-0"]
