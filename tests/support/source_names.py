"""Names that documents may use: those in the source, and those of modules.

Comments and docstrings do not count, so a name that exists only in prose is not found.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "runtime", "scripts", "tests")
# Where a path in a document may start.
STARTS = (Path(), Path("src/framekiln"), Path("runtime"), Path("runtime/src"))
FOREIGN = {"node_modules", "dist", "__pycache__"}

PROSE = re.compile(
    # Docstrings: not what stands behind an open bracket or an operator.
    r'''(?<![(,\[{=+]\n)^[ ]*r?"""[\s\S]*?"""'''
    # Other strings, in which `#` begins no comment; and comments.
    r'''|("""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\#[^\n]*''',
    re.MULTILINE,
)
CLASS = re.compile(r"^ *class (\w+)", re.MULTILINE)
TS_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")
CODE_SPAN = re.compile(r"`([^`\n]+)`")
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)

NAME = re.compile(
    r"(?<![\w-])(?:"
    r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)*"  # CamelCase
    r"|[a-z]+(?:[A-Z][a-z0-9]*)+"  # camelCase
    r"|_*[a-z][a-z0-9]*(?:_[a-z0-9]+)+"  # snake_case
    r"|[a-z][a-z0-9]*(?=\()"  # call()
    r")(?![\w-])"
)
PATH = re.compile(r"[a-z_][\w.-]*(?:/[\w.-]+)+/?")
FILE_OR_FOLDER = re.compile(r"(\w+)(?:\.(?:py|ts|c)|/)")
MEMBER = re.compile(r"([A-Z]\w+)\.([a-z_]\w*)")


def unknown_names(page: Path) -> set[str]:
    """All code spans of the page that look like a name of ours but are not."""
    spans = CODE_SPAN.findall(FENCED.sub("", page.read_text("utf-8")))
    return {name for span in spans for name in _unknown_in(span)}


def _unknown_in(span: str) -> Iterator[str]:
    if PATH.fullmatch(span):
        known = _path_exists(span)
    elif place := FILE_OR_FOLDER.fullmatch(span):
        known = place[1] in identifiers()
    elif (member := MEMBER.match(span)) and member[1] in _classes():
        known = member[2] in _members(member[1])
    else:
        yield from set(NAME.findall(span)) - identifiers()
        return
    if not known:
        yield span


def _path_exists(path: str) -> bool:
    """Whether a file or folder exists, with or without its suffix."""
    for start in STARTS:
        place = ROOT / start / path
        if place.exists() or any(place.parent.glob(f"{place.name}.*")):
            return True
    return False


def _sources(suffix: str) -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
            if not FOREIGN & set(path.parts):
                yield path


@cache
def _classes() -> dict[str, list[Path]]:
    """Where each class is defined."""
    found: dict[str, list[Path]] = {}
    for path in _sources(".py"):
        for name in CLASS.findall(path.read_text("utf-8")):
            found.setdefault(name, []).append(path)
    return found


@cache
def _class_nodes(path: Path) -> list[ast.ClassDef]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [node for node in nodes if isinstance(node, ast.ClassDef)]


@cache
def identifiers() -> frozenset[str]:
    """Every identifier, word of a string, and name of a module or package."""
    paths = [path for suffix in (".py", ".ts", ".c") for path in _sources(suffix)]
    found = {name for path in paths for name in (path.stem, path.parent.name)}
    # Not parsed: a million nodes take ten seconds.
    for path in _sources(".py"):
        code = PROSE.sub(lambda each: each[1] or "", path.read_text("utf-8"))
        found.update(WORD.findall(code))
    for path in _sources(".ts"):
        found.update(WORD.findall(TS_COMMENT.sub("", path.read_text("utf-8"))))
    return frozenset(found)


def _members(name: str) -> set[str]:
    """The members of a class and its bases, including fields."""
    found: set[str] = set()
    places = dict.fromkeys(_classes().get(name, []))
    kinds = [kind for place in places for kind in _class_nodes(place) if kind.name == name]
    for kind in kinds:
        for node in ast.walk(kind):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                found.update(WORD.findall(ast.unparse(node).partition("=")[0]))
        for base in kind.bases:
            found.update(_members(ast.unparse(base).partition("[")[0].rpartition(".")[2]))
    return found
