"""Errors for the page name the file and the line to look at."""

from pathlib import Path

from framekiln.capture.errors import PageThrew
from framekiln.kit.errors import InvalidInput
from framekiln.preview.films import free_name
from framekiln.preview.problems import problem_of


def test_an_error_of_the_page_itself_names_the_page() -> None:
    error = PageThrew("a script of the page threw at line 12, column 3: ReferenceError: x")
    found = problem_of(error, "title.html")
    assert (found.file, found.line) == ("title.html", 12)


def test_an_error_of_a_script_names_the_script() -> None:
    error = PageThrew("a script of the page threw at line 2, column 9 of /js/app.js: Error: no")
    found = problem_of(error, "index.html")
    assert (found.file, found.line) == ("js/app.js", 2)


def test_an_error_without_a_place_has_none() -> None:
    found = problem_of(InvalidInput("duration is missing"), "film.json")
    assert (found.file, found.line, found.message) == (None, None, "duration is missing")


def test_details_of_an_error_come_first() -> None:
    found = problem_of(InvalidInput("not JSON at line 1", file="a.json", line=7), "b.json")
    assert (found.file, found.line) == ("a.json", 7)


def test_an_unexpected_error_does_not_show_its_text() -> None:
    found = problem_of(RuntimeError("/home/someone/secret"), "a.html")
    assert "secret" not in found.message
    assert found.code == "internal_error"


def test_films_never_overwrite_a_file(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        names.append(free_name(tmp_path, "my page.html", "mp4"))
        (tmp_path / names[-1]).touch()
    assert names == ["my-page.mp4", "my-page-2.mp4", "my-page-3.mp4"]
