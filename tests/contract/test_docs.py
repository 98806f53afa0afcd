"""The documents keep up with the code: settings, error codes, routes, links, make targets."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

import pytest

import framekiln
from framekiln.api.errors import STATUSES
from framekiln.kit.errors import FramekilnError
from framekiln.settings import Settings
from tests.support.api_document import described_operations
from tests.support.source_names import unknown_names

ROOT = Path(__file__).resolve().parents[2]
ERRORS = ROOT / "docs" / "api" / "errors.md"
COMPOSITIONS = ROOT / "docs" / "api" / "compositions.md"
ELEMENTS = ROOT / "runtime" / "src" / "elements"
PAGES_WITH_NAMES = (
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
)
SETTINGS_PAGE = ROOT / "docs" / "howto" / "operate.md"
# Read by the command line before there are settings.
NOT_A_SETTING = {"FRAMEKILN_NATIVE", "FRAMEKILN_DEBUG"}
# Written by the api without an error class of their own, or into a render's failure.
CODES_WITHOUT_CLASS = {
    "cancelled",
    "method_not_allowed",
    "range_not_satisfiable",
    "request_timeout",
    "render_kills_workers",
    "slice_kills_workers",
}
FOREIGN_FOLDERS = {"node_modules", ".venv", ".git", ".pytest_cache"}

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MAKE = re.compile(r"(?:^|\s|`)make ([a-z][a-z0-9-]*)", re.MULTILINE)

Row = dict[str, str]


def pages() -> list[Path]:
    found = ROOT.rglob("*.md")
    return sorted(p for p in found if not FOREIGN_FOLDERS & set(p.relative_to(ROOT).parts))


def prose(page: Path) -> str:
    """The page without its code blocks, where brackets mean other things."""
    return FENCE.sub("", page.read_text("utf-8"))


def code(page: Path) -> str:
    """What the page shows as code, in blocks and in lines."""
    text = page.read_text("utf-8")
    return "\n".join([*FENCE.findall(text), *re.findall(r"`[^`\n]+`", FENCE.sub("", text))])


def table_rows(text: str) -> Iterator[Row]:
    """Yield the rows of all tables, by column name."""
    columns: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not columns:
            columns = cells
        elif not set("".join(cells)) <= set("-:"):
            yield dict(zip(columns, cells, strict=True))


@cache
def error_rows() -> dict[str, Row]:
    """The documented codes; each must have one row only."""
    rows = [row for row in table_rows(ERRORS.read_text("utf-8")) if "Code" in row]
    by_code = {row["Code"].strip("`"): row for row in rows}
    assert len(by_code) == len(rows), "a code has two rows in errors.md"
    return by_code


@cache
def error_classes() -> dict[str, list[type[FramekilnError]]]:
    """Every error class of the project, by code."""
    for module in pkgutil.walk_packages(framekiln.__path__, "framekiln."):
        # Neither is there to be imported: one runs the program, the others a migration.
        if not module.name.endswith("__main__") and ".migrations" not in module.name:
            importlib.import_module(module.name)
    found: dict[str, list[type[FramekilnError]]] = {}
    for kind in dict.fromkeys(_descendants(FramekilnError)):
        # Other tests may define errors of their own.
        if kind.__module__.startswith("framekiln."):
            found.setdefault(kind.code, []).append(kind)
    return found


def _descendants(kind: type[FramekilnError]) -> Iterator[type[FramekilnError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _descendants(child)


def status_of(kind: type[FramekilnError]) -> str:
    return str(next((status for base, status in STATUSES if issubclass(kind, base)), 500))


def retry_word(kinds: list[type[FramekilnError]]) -> str:
    words = {"yes" if kind.retryable else "no" for kind in kinds}
    return words.pop() if len(words) == 1 else "depends"


def anchors(page: Path) -> set[str]:
    """What headings can be linked to, named as code hosts name them."""
    titles = HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_setting_has_its_row() -> None:
    documented = {
        row["Variable"].strip("`")
        for row in table_rows(SETTINGS_PAGE.read_text("utf-8"))
        if "Variable" in row
    }
    assert documented == {field.alias for field in Settings.model_fields.values()}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_document_names_a_setting_that_does_not_exist(page: Path) -> None:
    known = {field.alias for field in Settings.model_fields.values()} | NOT_A_SETTING
    assert set(re.findall(r"\bFRAMEKILN_[A-Z_]+[A-Z]\b", page.read_text("utf-8"))) <= known


def test_every_error_code_has_its_row() -> None:
    assert set(error_rows()) == set(error_classes()) | CODES_WITHOUT_CLASS


# Named by the page: the classes are found by importing everything, which takes seconds.
@pytest.mark.parametrize("code", sorted(set(error_rows()) - CODES_WITHOUT_CLASS))
def test_the_row_of_an_error_code_is_right(code: str) -> None:
    kinds, row = error_classes()[code], error_rows()[code]
    assert {row["Blame"]} == {str(kind.blame) for kind in kinds}
    assert row["Retry"] == retry_word(kinds)
    assert row["Meaning"].endswith(".")
    # Codes that never leave by HTTP stand in tables without this column.
    if "Status" in row:
        assert {row["Status"]} == {status_of(kind) for kind in kinds}


def test_every_route_has_its_heading() -> None:
    routes = set(described_operations())
    api_pages = (ROOT / "docs" / "api").glob("*.md")
    headings = set(chain.from_iterable(HEADING.findall(prose(page)) for page in api_pages))
    assert routes
    assert routes <= headings


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_has_a_target(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), f"{link} leads out of the repository"
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def test_every_element_is_described_and_shown() -> None:
    defined = set(re.findall(r'^  "(ef-[a-z-]+)":', (ELEMENTS / "register.ts").read_text(), re.M))
    page = COMPOSITIONS.read_text("utf-8")
    shown = set(re.findall(r"<(ef-[a-z-]+)", "\n".join(FENCE.findall(page))))
    assert "ef-timegroup" in defined
    assert defined <= shown
    assert defined <= set(re.findall(r"ef-[a-z]+(?:-[a-z]+)*", prose(COMPOSITIONS)))
    inert = set(re.findall(r'"(ef-[a-z-]+)"', (ELEMENTS / "inert.ts").read_text()))
    assert shown <= defined | inert


def test_every_make_target_named_in_the_documents_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE))
    named = {name for page in pages() for name in MAKE.findall(code(page))}
    assert {"serve", "test"} <= named
    assert named <= targets


def test_the_architecture_page_stays_short() -> None:
    lines = (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()
    assert len(lines) <= 200
    assert [line for line in lines if len(line) > 100] == []


@pytest.mark.parametrize("page", PAGES_WITH_NAMES, ids=lambda page: page.name)
def test_every_name_in_code_spans_exists_in_the_source(page: Path) -> None:
    assert unknown_names(page) == set()


def test_names_that_do_not_exist_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`RenderWorker.start`, `kit/clock`, `makePlan()`, `kernel.c`, `render.film`\n")
    assert unknown_names(page) == set()
    # Written in two halves: the words of this file count as names, too.
    wrong = ["No+Class", "no_+name", "no+Member", "kit/no_+module", "no_+file.py"]
    wrong = [name.replace("+", "") for name in [*wrong, "RenderWorker.no_+method"]]
    page.write_text(" ".join(f"`{name}`" for name in wrong))
    assert unknown_names(page) == set(wrong)


def test_the_readme_shows_the_page_that_its_picture_was_made_of() -> None:
    shown = FENCE.findall((ROOT / "README.md").read_text("utf-8"))
    page = (ROOT / "docs" / "images" / "title.html").read_text("utf-8")
    assert f"```html\n{page}```" in shown


def test_decisions_are_numbered_without_holes_and_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    names = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    listed = set(LINK.findall((folder / "README.md").read_text("utf-8")))
    assert set(names) <= listed
