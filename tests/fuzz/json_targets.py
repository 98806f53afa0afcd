"""Layer configs, templates, definitions, predicates and rows of bulks."""

import json
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from framekiln.api.bodies import parse_json
from framekiln.api.v2.bulk_rows import read_csv, read_json_lines, read_json_rows
from framekiln.composition.layers import (
    read_config,
    resolve,
    state_at,
    write_config,
)
from framekiln.composition.templates import fill_template, open_template, read_template
from framekiln.kit.canonical_json import canonical_json
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.normal_form import load, normal_form
from framekiln.pipelines.definition.predicate import evaluate
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.endpoints.callbacks import read_callback
from framekiln.pipelines.outputs.corrections import check_correction
from framekiln.pipelines.outputs.validation import check_output
from framekiln.pipelines.steps import STEP_TYPES
from tests.fuzz.mutations import any_json, changed_bytes, changed_json, changed_text, json_bytes
from tests.fuzz.targets import FuzzTarget
from tests.unit.composition.layers.configs import MEDIA, VIDEO
from tests.unit.pipelines.definitions import definitions, predicates

OUTPUTS = (
    {
        "metadata": {"a": [1, {"b": None}]},
        "annotations": [
            {
                "kind": "face",
                "start_ms": 0,
                "end_ms": 40,
                "confidence": 0.5,
                "boxes": [{"t_ms": 0, "x": 0, "y": 0, "width": 1, "height": 1}],
            }
        ],
    },
    {"reviewed_kinds": ["face"], "annotations": [{"kind": "face", "start_ms": 0, "end_ms": 1}]},
    {"status": "failed", "error": {"message": "no", "code": "a_b", "retryable": True}},
)
OUTPUT_NAMES = ("metadata", "annotations", "kind", "start_ms", "end_ms", "boxes", "status", "error")
ODD_JSON = b'{"a": "\\ud800\\u0000", "b": 1e5, "c": -0.0, "d": 123456789012345678901234567890}'
MAX_FILLED_CHARS = 400_000
WORDY = """
id type file source timeline trim start end position size x y z width height scale format audio
volume transitions options duration time value easing kenBurns text fontSize color layers filter
name filters shape kind html page lottie w h fr op loop speed opacity dimensions fps metadata crop
origin perspective subtitles waveform backgroundColor extension angle
"""
FIELDS = WORDY.split()
CONFIG: dict[str, Any] = {
    "dimensions": {"width": 64, "height": 36},
    "duration": 4,
    "layers": [
        {
            "type": "video",
            "file": VIDEO,
            "trim": {"start": 0, "end": 3},
            "timeline": {"start": 0.5},
            "position": {"x": "center", "y": 3, "z": 1, "angle": 5},
            "size": {"width": 20, "height": 10, "format": "fit"},
            "audio": {"volume": 1},
            "transitions": [
                {"type": "fadeIn", "options": {"duration": 1}},
                {"type": "x", "options": {"time": 1, "value": 3, "easing": "linear"}},
            ],
        },
        {"type": "text", "text": {"text": "Hi", "fontSize": 12, "color": "#fff"}},
        {"type": "shape", "shape": {"kind": "rectangle"}, "opacity": 0.5},
    ],
}
LIQUID = (
    "{{ a }}",
    "{{ a | upcase | append: b | replace: 'a', 'bb' | truncate: 5 }}",
    "{% for x in b %}{{ x | plus: 1 }}{% break %}{% endfor %}",
    "{% if a == b %}{{ a | default: 'x' }}{% else %}{{ b.c | date: '%Y' }}{% endif %}",
    "{% capture y %}{{ b | join: ',' }}{% endcapture %}{{ y | size | times: 3 }}",
    "{% assign z = a | divided_by: 3 %}{{ z | round }}{{ (1..5) | first }}",
)
LIQUID_WORDS = (
    *("{{", "}}", "{%", "%}", "|", "'", '"', ":", "..", "(1..99999999)", "0", "-1", "1.5e9"),
    *("a", "b", "upcase", "times: 9999999999", "divided_by: 0", "for", "endfor", "raw", "comment"),
    *("assign", "capture", "case", "when", "forloop", "[", "]", ".", "{%-", "-%}", "1e400", "nil"),
    *("| replace: '', 'xxxxxxxx'", "| append: a", "| join: a", "| date: '%s'", "| round: 999999"),
)
RULES = ("nullable", "required", "string|min:1|max:3", "numeric|between:1,5", "regex:/^a+$/", "")
RULE_WORDS = ("|", ":", ",", "/", "(", "a+", "in:", "regex:/(a+)+$/", "array", "integer", "url")


def check_config(value: Any) -> None:
    """A config is read, and what is written of it is read the same."""
    config = read_config(value).config
    assert read_config(write_config(config)).config == config
    for layer in resolve(config, MEDIA).layers:
        state_at(layer, Fraction(1))


def check_template(given: tuple[Any, Any, Any, Any]) -> None:
    """A template is filled with data, and what comes out is not too large."""
    text, rule, values, config = given
    whole = {**config, "layers": [{"type": "text", "text": {"text": text}}]}
    inputs = {"a": rule, "b": "nullable"}
    filled = fill_template(open_template(whole, inputs, {}), values).config
    assert len(json.dumps(filled)) <= MAX_FILLED_CHARS
    read_template(whole, inputs, values)


def check_definition(value: Any) -> None:
    """A definition is read with its normal form, or its issues are named."""
    found = validate(value, STEP_TYPES)
    if isinstance(found, Definition):
        assert load(json.loads(canonical_json(normal_form(found))), STEP_TYPES) == found
        return
    assert found
    assert all(json.dumps(issue.path) and issue.code for issue in found)


def check_predicate(given: tuple[Any, Any]) -> None:
    """A predicate that is read is evaluated over anything; its negation gives the opposite."""
    when, metadata = given
    steps = {"p": {"type": "probe"}, "f": {"type": "filter", "needs": ["p"], "when": when}}
    found = validate({"steps": steps}, STEP_TYPES)
    if not isinstance(found, Definition):
        return
    view = {"p": {"metadata": metadata, "annotations": [metadata]}}
    predicate: Any = found.steps["f"].when
    assert evaluate(predicate, view) in (True, False)
    steps["f"]["when"] = {"not": when}
    opposite = validate({"steps": steps}, STEP_TYPES)
    if isinstance(opposite, Definition):
        negated: Any = opposite.steps["f"].when
        assert evaluate(negated, view) is not evaluate(predicate, view)


def check_body(data: bytes) -> None:
    """What is read of a body can be written again, and is the same."""
    value = parse_json(data)
    assert json.loads(canonical_json(value)) == value


def check_step_output(value: Any) -> None:
    """Outputs, corrections and callbacks are accepted, or their issues are named."""
    for found in (check_output(value), check_correction(value)):
        assert not isinstance(found, list) or found
    read_callback({"status": "succeeded", "output": value})
    read_callback(value)


def check_table(data: bytes) -> None:
    """Rows of CSV have their names, and no more text than the table."""
    rows = read_csv(data)
    assert all(cell for row in rows for cell in row.values())
    assert sum(len(cell) for row in rows for cell in row.values()) <= len(data)


def check_rows(data: bytes) -> None:
    """Rows of JSON Lines and of JSON are objects."""
    assert all(isinstance(row, dict) for row in read_json_lines(data))
    assert all(isinstance(row, dict) for row in read_json_rows(parse_json(data)).rows)


@st.composite
def _changed_definitions(draw: st.DrawFn) -> Any:
    names = ("steps", "type", "needs", "with", "when", "granularity", "mode", "s0", "all", "not")
    return draw(changed_json([draw(definitions(max_steps=4))], names))


@st.composite
def _changed_predicates(draw: st.DrawFn) -> Any:
    names = ("path", "op", "value", "all", "any", "not")
    return draw(changed_json([draw(predicates(["p"]))], names))


TARGETS = (
    FuzzTarget("config", changed_json([CONFIG], FIELDS), check_config),
    FuzzTarget(
        "template",
        st.tuples(
            changed_text(LIQUID, LIQUID_WORDS),
            st.sampled_from(RULES) | changed_text(RULES, RULE_WORDS),
            st.fixed_dictionaries({"a": any_json(), "b": any_json(["c"])}),
            st.just(CONFIG) | changed_json([CONFIG], FIELDS).filter(lambda c: isinstance(c, dict)),
        ),
        check_template,
    ),
    FuzzTarget(
        "body", changed_bytes([json_bytes(CONFIG), b'{"a": "\\ud800", "b": 1e5}']), check_body
    ),
    FuzzTarget("step_output", changed_json(OUTPUTS, OUTPUT_NAMES), check_step_output),
    FuzzTarget("definition", _changed_definitions(), check_definition),
    FuzzTarget("table", changed_bytes([b'name,city\r\nAda,"Lon\ndon"\n"a""b",\n']), check_table),
    FuzzTarget(
        "rows",
        changed_bytes([b'{"a": 1}\n{"b": [1, "x"]}\n', b'{"rows": [{"a": 1}], "version": 2}']),
        check_rows,
    ),
    FuzzTarget(
        "predicate", st.tuples(_changed_predicates(), any_json(["a", "b"])), check_predicate
    ),
)
