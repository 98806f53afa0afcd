"""The report finds markers wherever pytest does, and refuses clauses that do not exist."""

import json
import re
from pathlib import Path

import pytest
from scripts.spec_report import coverage, main, marks_in, read_clauses

CLAUSES = "# comment\n\n4.3  Render routes\n5    Authentication\n8    Limits\n"
MODULE = """
import pytest

pytestmark = [pytest.mark.spec("5")]

@pytest.mark.spec("4.3")
def test_plain(): ...

@pytest.mark.spec("4.3", "8")
async def test_two(): ...

@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.spec("8"))])
def test_parameter(n): ...

@pytest.mark.spec("8")
class TestGroup:
    def test_one(self): ...
    @pytest.mark.spec("4.3")
    def test_other(self): ...
    def not_a_test(self): ...
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small project with one marked module."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/spec-clauses.txt").write_text(CLAUSES)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text(MODULE)
    return tmp_path


def test_markers_are_found_on_tests_classes_parameters_and_modules(tree: Path) -> None:
    covered, problems = coverage(tree)
    names = {
        clause: [test.split("::", 1)[1] for test in tests] for clause, tests in covered.items()
    }
    assert names["4.3"] == ["test_plain", "test_two", "TestGroup::test_other"]
    assert names["8"] == [
        "test_two",
        "test_parameter",
        "TestGroup::test_one",
        "TestGroup::test_other",
    ]
    assert len(names["5"]) == 5
    assert problems == []


def test_an_unknown_clause_is_an_error(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = 'import pytest\n\n@pytest.mark.spec("4.99")\ndef test_b(): ...\n'
    (tree / "tests/test_b.py").write_text(source)
    assert main([], tree) == 1
    assert "tests/test_b.py:3: no such clause: 4.99" in capsys.readouterr().err


@pytest.mark.parametrize("call", ["pytest.mark.spec()", "pytest.mark.spec(NAME)"])
def test_a_marker_without_a_literal_clause_is_an_error(tree: Path, call: str) -> None:
    (tree / "tests/test_b.py").write_text(f"import pytest\n\n@{call}\ndef test_b(): ...\n")
    assert len(coverage(tree)[1]) == 1


def test_the_table_ends_with_what_is_missing(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "tests/test_a.py").write_text(MODULE.replace('"8"', '"4.3"'))
    assert main([], tree) == 0
    printed = capsys.readouterr().out
    assert "2 of 3 clauses have a test." in printed
    assert printed.rstrip().endswith("no test: 8 Limits")


def test_json_lists_every_clause(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json"], tree) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["clause"] for row in document["clauses"]] == ["4.3", "5", "8"]
    assert document["clauses"][0]["title"] == "Render routes"
    assert document["problems"] == []


def test_marks_carry_their_line(tree: Path) -> None:
    lines = [mark.line for mark in marks_in(tree / "tests/test_a.py", "a")]
    assert lines == sorted(lines)
    assert lines[0] == 4


def test_our_own_list_of_clauses_is_in_order() -> None:
    numbers = list(read_clauses())
    assert numbers == sorted(numbers, key=lambda number: [int(part) for part in number.split(".")])
    assert all(re.fullmatch(r"\d(\.\d+)?", number) for number in numbers)
    assert all(read_clauses().values())
