"""Every rule: what it accepts, what it refuses; and what is no rule."""

from typing import Any

import pytest
import re2  # type: ignore[import-untyped]

from framekiln.composition.templates.inputs import check_data, read_inputs
from framekiln.composition.templates.rules import KINDS

URL = "https://media.example/a.mp4"
LONG = "x" * 300

# Rule, values it accepts, values it refuses.
VALUES: list[tuple[str, list[Any], list[Any]]] = [
    ("required", ["x", 0, False, [0], {"a": 1}], [None, "", "  ", [], {}]),
    ("present", ["", None], []),
    ("filled", ["x"], ["", None]),
    ("string", ["x", ""], [5, True, [], None]),
    ("nullable|string", [None, "x"], [5]),
    ("sometimes|required", ["x"], [""]),
    ("numeric", [5, 1.5, "5", "-1.5"], ["x", True, [], "1e5", "0x5"]),
    ("integer", [5, "5", 5.0], [5.5, "5.5", "x", True]),
    ("boolean", [True, False, 0, 1, "1", "false"], ["yes", 2, []]),
    ("array", [[], [1], {"a": 1}], ["x", 1]),
    ("json", ['{"a": 1}', "[]"], ["{", 5]),
    ("date", ["2024-02-29", "2024-02-29T10:00:00Z"], ["2023-02-29", "tomorrow", 5]),
    ("date_format:d.m.Y H:i", ["31.12.2024 23:59"], ["2024-12-31", "31.12.2024", "32.12.2024 1:1"]),
    ("date_format:Y-m-d", ["2024-02-29"], ["2023-02-29", "2024-04-31"]),
    ("date_format:j.n", ["29.2", "31.12"], ["30.2"]),
    ("min:3", [3, 4.5, "abc", [1, 2, 3]], [2.9, "ab", [1]]),
    ("numeric|min:3", ["3", 5], ["2"]),
    ("max:3", [3, "abc", [1]], [3.1, "abcd"]),
    ("between:2,3", ["ab", 2, 3], ["a", "abcd", 1]),
    ("size:3", ["abc", 3, [1, 2, 3]], ["ab", 4]),
    ("gt:3", [4, "abcd"], [3, "abc"]),
    ("gte:3", [3], [2]),
    ("lt:3", [2], [3]),
    ("lte:3", [3], [4]),
    ("digits:3", ["123", 123, 123.0], ["12", "12a", -12, 1.5]),
    ("digits_between:2,3", ["12", 123], ["1", "1234"]),
    ("decimal:2", ["1.25", 1.25], ["1.2", 1, "x"]),
    ("decimal:0,2", ["1.25", 1], ["1.255"]),
    ("multiple_of:0.1", [0.3, "1.1"], [0.35, "x"]),
    ("in:a,b,5", ["a", 5, 5.0, ["a", "b", 5.0]], ["c", "5.0", ["a", "c"]]),
    ("numeric|in:1.0,2.50", [1, 1.0, "1", 2.5, "2.5"], [2, "1.1", True]),
    ("not_in:a,b,1", ["c", "1.0"], ["a", 1.0]),
    ("regex:/^a+b$/i", ["ab", "AAB"], ["b", "abc", LONG * 20]),
    ("not_regex:^a", ["b"], ["ab"]),
    ("alpha", ["abcé"], ["ab1", 5]),
    ("alpha_num", ["ab1", 5], ["a-b"]),
    ("alpha_dash", ["a-b_1"], ["a b"]),
    ("ascii", ["abc"], ["é"]),
    ("lowercase", ["abc1"], ["Abc"]),
    ("uppercase", ["ABC1"], ["Abc"]),
    ("starts_with:a,b", ["ax", "bx"], ["x"]),
    ("ends_with:.mp4,.mov", ["a.mp4"], ["a.png"]),
    ("same:other", ["same"], ["x"]),
    ("different:other", ["x"], ["same"]),
    ("distinct", [[1, 2], ["a", {"b": 1}]], [[1, 1], [{"a": 1}, {"a": 1}]]),
    ("url", [URL, "http://localhost:80/x", "https://127.0.0.1/"], ["x", "ftp://a/b", 5, "https:"]),
    ("active_url", [URL], ["a.mp4"]),
    ("https", [URL], ["http://a.example/"]),
    ("media:video|audio", [URL], ["x"]),
    ("duration_max:30", [URL], [5]),
    ("email", ["a@b.example"], ["a@b", "a b@c.example", "@b.example"]),
    ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]),
    ("ulid", ["01ARZ3NDEKTSV4RRFFQ69G5FAV"], ["01ARZ3NDEKTSV4RRFFQ69G5FA"]),
    ("ip", ["127.0.0.1", "::1"], ["300.1.1.1", 5]),
    ("timezone", ["Europe/Berlin", "UTC"], ["somewhere", "Europe/"]),
    ("hex_color", ["#fff", "#11223344"], ["red", "#12"]),
    ("color", ["red", "#fff", "rgb(1,2,3)"], ["rouge", 5]),
]
CASES = [(rule, value, True) for rule, good, _ in VALUES for value in good]
CASES += [(rule, value, False) for rule, _, bad in VALUES for value in bad]


def passes(rules: object, data: dict[str, Any], name: str = "value") -> bool:
    inputs, faults = read_inputs({name: rules})
    assert faults == []
    return not check_data(inputs, data).issues


@pytest.mark.parametrize(("rule", "value", "is_good"), CASES)
def test_each_rule_accepts_and_refuses_values(rule: str, value: object, is_good: bool) -> None:
    assert passes(rule, {"value": value, "other": "same"}) is is_good


def test_every_rule_is_tried() -> None:
    tried = {word.partition(":")[0] for rules, _, _ in VALUES for word in rules.split("|")}
    conditions = {"required_if", "required_unless", "required_with", "required_without", "bail"}
    assert tried | conditions >= KINDS.keys()


@pytest.mark.parametrize(
    ("rule", "others", "is_needed"),
    [
        ("required", {}, True),
        ("present", {}, True),
        ("sometimes|required", {}, False),
        ("string|min:5", {}, False),
        ("required_if:kind,a,b", {"kind": "b"}, True),
        ("required_if:kind,a,b", {"kind": "c"}, False),
        ("required_if:on,true", {"on": True}, True),
        ("required_if:count,1", {"count": 1.0}, True),
        ("required_unless:kind,a", {"kind": "b"}, True),
        ("required_unless:kind,a", {"kind": "a"}, False),
        ("required_with:x,y", {"y": 1}, True),
        ("required_with:x,y", {"z": 1}, False),
        ("required_without:x", {}, True),
        ("required_without:x", {"x": 1}, False),
    ],
)
def test_presence_rules_decide_whether_an_input_is_required(
    rule: str, others: dict[str, Any], is_needed: bool
) -> None:
    assert passes(rule, others) is not is_needed


def test_other_rules_ignore_empty_text() -> None:
    assert passes("string|min:5|url", {"value": ""})


def test_bounds_may_be_other_inputs() -> None:
    assert passes("numeric|gt:low", {"value": "10", "low": "9"})
    assert not passes("numeric|gt:low", {"value": 9, "low": 9})
    assert not passes("numeric|gt:low", {"value": 9})


@pytest.mark.parametrize(
    "rules",
    [
        "requird",
        "min",
        "min:x",
        "between:1",
        "required:1",
        "regex:/(/",
        "regex:(?=x)y",
        r"regex:(a)\1",
        "regex:/a/q",
        "regex:a{9999}",
        "media:book",
        "multiple_of:0",
        5,
        {"a": 1},
        ["required", 5],
        "|".join(["required"] * 60),
    ],
)
def test_unknown_rules_are_rejected(rules: object) -> None:
    _, faults = read_inputs({"value": rules})
    assert [(fault.path, fault.code) for fault in faults] == [("inputs.value", "unknown_rule")]


def test_the_nearest_rule_is_suggested() -> None:
    _, faults = read_inputs({"value": "required|activ_url"})
    assert faults[0].hint == "did you mean active_url?"


def test_rules_in_an_array_may_contain_bars() -> None:
    assert passes(["required", "regex:/^(a|b)$/"], {"value": "b"})
    assert not passes(["required", "regex:/^(a|b)$/"], {"value": "c"})


def test_a_star_in_a_name_applies_to_each_item() -> None:
    inputs, _ = read_inputs({"items.*.image": "required|url", "items": "array|min:1"})
    data = {"items": [{"image": URL}, {}, {"image": "x"}]}
    found = {issue.path: issue.code for issue in check_data(inputs, data).issues}
    assert found == {"data.items.1.image": "required", "data.items.2.image": "not_url"}
    assert check_data(inputs, {}).issues == ()
    assert passes("required", {"a": {"b": 1}}, name="a.b")
    assert not passes("required", {"a": {}}, name="a.b")


def test_items_with_stars_can_be_distinct() -> None:
    assert passes("distinct", {"a": [{"id": 1}, {"id": 2}]}, name="a.*.id")
    assert not passes("distinct", {"a": [{"id": 1}, {"id": 1}]}, name="a.*.id")


def test_all_failures_are_reported_unless_bail() -> None:
    inputs, _ = read_inputs({"a": "numeric|min:5|in:x", "b": "bail|numeric|min:5|in:x"})
    found = [issue.path for issue in check_data(inputs, {"a": "y", "b": "y"}).issues]
    assert found == ["data.a"] * 3 + ["data.b"]


def test_rules_that_need_the_network_are_returned() -> None:
    inputs, _ = read_inputs({"a": "active_url|media:video,audio|duration_max:30", "b": "url"})
    remote = check_data(inputs, {"a": URL, "b": URL}).remote
    assert [(check.rule, check.arguments) for check in remote] == [
        ("active_url", ()),
        ("media", ("video", "audio")),
        ("duration_max", ("30",)),
    ]
    assert {(check.path, check.url) for check in remote} == {("data.a", URL)}


@pytest.mark.parametrize("pattern", [r"\p{L}{1,99}", r"\p{L}{1,999}"])
def test_the_patterns_of_a_template_are_bounded_together(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template of 9 KB kept a thread and the interpreter busy for half a minute."""
    compiled: list[str] = []
    compile_one = re2.compile

    def compile_and_count(text: str, options: Any) -> Any:
        compiled.append(text)
        return compile_one(text, options)

    monkeypatch.setattr(re2, "compile", compile_and_count)
    inputs = {f"input{number}": f"regex:{pattern}{number}" for number in range(200)}
    _, issues = read_inputs(inputs)
    assert "the patterns of all inputs are too large together" in issues[-1].message
    assert len(compiled) <= 4


def test_a_template_may_have_many_ordinary_patterns() -> None:
    inputs = {f"input{number}": rf"regex:/^[A-Z]{{1,20}}-\d+{number}$/i" for number in range(200)}
    assert read_inputs(inputs)[1] == []


def test_a_pattern_is_compiled_once_for_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, _ = read_inputs({"names.*": r"regex:^\p{L}{1,50}$"})
    monkeypatch.setattr(re2, "compile", None)
    assert not check_data(inputs, {"names": ["abc"] * 1000}).issues


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("decimal:1", "must have 1 decimal"),
        ("decimal:2", "must have 2 decimals"),
        ("decimal:1,2", "must have 1 to 2 decimals"),
    ],
)
def test_the_rule_decimal_says_how_many_are_allowed(rule: str, message: str) -> None:
    inputs, _ = read_inputs({"a": rule})
    (issue,) = check_data(inputs, {"a": "5"}).issues
    assert issue.message == f"a {message}"


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        ("max:3", "abcd", "must have at most 3 characters"),
        ("min:1", [], "must have at least 1 item"),
        ("between:1,2", "abc", "must have 1 to 2 characters"),
        ("size:2", ["a"], "must have exactly 2 items"),
        ("numeric|max:3", "4", "must be at most 3"),
        ("max:3", 4, "must be at most 3"),
    ],
)
def test_messages_about_lengths_say_what_is_counted(rule: str, value: Any, message: str) -> None:
    (issue,) = check_data(read_inputs({"a": rule})[0], {"a": value}).issues
    assert issue.message == f"a {message}"
