"""Rows of a bulk as they are posted."""

from typing import Any

import pytest

from framekiln.api.v2.bulk_rows import read_csv, read_json_lines, read_json_rows
from framekiln.composition.templates import Template, open_template
from framekiln.kit.errors import InvalidInput, TooLarge
from framekiln.videos.bulks.model import MAX_ROWS
from framekiln.videos.bulks.row_check import MAX_WARNINGS, InvalidRows, check_rows


def test_csv_has_names_in_its_first_line_and_empty_cells_are_no_values() -> None:
    raw = '\ufeffname, city\r\n"Ada, Countess",London\r\n\r\nGrace,\r\n'.encode()
    assert read_csv(raw) == [{"name": "Ada, Countess", "city": "London"}, {"name": "Grace"}]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "must name each input once"),
        (b"name;city\nAda;London", "has semicolons and no commas"),
        (b"name\tcity\nAda\tLondon", "has tabs and no commas"),
        (b"name,name\nAda,b", "must name each input once"),
        (b"name,\nAda,b", "must name each input once"),
        (b"name\n\xff", "is not UTF-8"),
        (b"name\na\x00", "U\\+0000"),
        (b'name\n"Ada', "line 2"),
        (b"name\n" + b"a\n" * (MAX_ROWS + 1), "more than 10000 rows"),
    ],
)
def test_a_csv_that_cannot_be_read_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_csv(raw)


@pytest.mark.parametrize("head", [b"", b"a\n"])
@pytest.mark.parametrize("rest", [b"a,", b'"\n",a,'])
def test_a_csv_line_with_too_many_commas_is_refused(head: bytes, rest: bytes) -> None:
    """The reader kept the interpreter lock: a header of 4 million names stopped the api for 5 s."""
    with pytest.raises(TooLarge, match="more than 10000 commas"):
        read_csv(head + rest * 50_001)


def test_a_csv_may_have_many_commas_in_many_lines() -> None:
    row = f'"{"," * 9_000}"\n'
    assert len(read_csv(f"a\n{row * 3}".encode())) == 3


def test_a_csv_row_with_too_many_cells_is_named() -> None:
    with pytest.raises(InvalidRows) as caught:
        read_csv(b"name\nAda\nGrace,Hopper\n")
    assert [issue.row for issue in caught.value.issues] == [2]


def test_rows_may_not_have_more_values_than_a_body_may() -> None:
    names = ",".join(f"n{number}" for number in range(300))
    with pytest.raises(TooLarge):
        read_csv(f"{names}\n{'a' + chr(10)}".encode() + b"a\n" * 700)


def test_json_lines_are_objects_and_wrong_lines_are_named() -> None:
    assert read_json_lines(b'{"name": "Ada"}\n\n{"name": 1}\r\n') == [{"name": "Ada"}, {"name": 1}]
    with pytest.raises(InvalidRows) as caught:
        read_json_lines(b'{"name": "Ada"}\n{"name"\n[1]\n{}')
    assert [issue.row for issue in caught.value.issues] == [2, 3]


def test_json_is_an_array_or_an_object_with_rows() -> None:
    assert read_json_rows([{"name": "Ada"}]).rows == [{"name": "Ada"}]
    posted = read_json_rows({"rows": [{}], "version": 2})
    assert (posted.rows, posted.version) == ([{}], 2)
    with pytest.raises(InvalidRows, match="row 2: must be an object"):
        read_json_rows([{}, 3])
    wrong_bodies: list[object] = [{}, {"rows": {}}, "x", None]
    for wrong in wrong_bodies:
        with pytest.raises(InvalidInput, match="array of objects"):
            read_json_rows(wrong)


def test_all_wrong_rows_are_found_by_rules_and_by_config() -> None:
    layer = {"id": "t", "type": "text", "text": {"text": "{{ name }}", "fontSize": "{{ size }}"}}
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]}
    inputs = {"name": "required|string|max:5", "size": "numeric"}
    template = open_template(config, inputs, {"name": "you", "size": 20})
    rows: list[dict[str, Any]] = [
        {"name": "Ada"},
        {},
        {"name": "Archimedes"},
        {"name": "Bob", "size": -4},
    ]
    issues = check_rows(template, rows).issues
    assert [(issue.row, issue.path) for issue in issues] == [
        (2, "data.name"),
        (3, "data.name"),
        (4, "layers.0.text.fontSize"),
    ]


def colours_template() -> Template:
    layer = {"type": "text", "text": {"text": "x", "color": "{{ color }}"}}
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]}
    return open_template(config, {"color": "color"}, {"color": "red"})


def test_a_name_that_is_no_input_is_warned_of_once() -> None:
    rows = [{"color": "red"}, *read_csv(b"colour,color\nblue,\ngreen,\n")]
    (warning,) = check_rows(colours_template(), rows).warnings
    assert warning.as_json() == {
        "row": 2,
        "path": "data.colour",
        "code": "unknown_field",
        "message": "colour is not an input",
        "hint": "did you mean color?",
    }


def test_the_warnings_of_a_bulk_are_bounded() -> None:
    rows = [{f"name {number}": 1} for number in range(MAX_WARNINGS + 1)]
    found = check_rows(colours_template(), rows)
    assert (len(found.warnings), found.issues) == (MAX_WARNINGS, ())


def test_a_field_beside_the_rows_that_is_not_known_is_warned_of() -> None:
    posted = read_json_rows({"rows": [{}], "versoin": 2})
    assert [(each.path, each.code, each.hint) for each in posted.warnings] == [
        ("versoin", "unknown_field", "did you mean version?")
    ]
