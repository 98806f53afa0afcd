"""Shows which tests cover which clause of the specification, and which clauses none covers.

Reads `@pytest.mark.spec("4.3")` from the tests' source without running it: on a test, a class, a
`pytest.param` or a module's `pytestmark`. A marker with an unknown clause makes it exit with 1.
"""

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLAUSES = ROOT / "docs" / "spec-clauses.txt"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Mark:
    """One clause named by a marker, and the tests the marker covers."""

    clause: str
    line: int
    tests: tuple[str, ...]


def read_clauses(path: Path = CLAUSES) -> dict[str, str]:
    """Return the clauses' titles by number, in order."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs}


def marks_in(path: Path, shown_as: str) -> list[Mark]:
    """Return the marks in one test module."""
    return list(_marks(ast.parse(path.read_text(encoding="utf-8")), shown_as))


def _marks(scope: ast.Module | ast.ClassDef, name: str) -> Iterator[Mark]:
    for node in scope.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and "pytestmark" in ast.unparse(node):
            yield from _named_by(node, _tests(scope, name))
        if isinstance(node, Definition):
            inner = f"{name}::{node.name}"
            tests = _tests(node, inner) if isinstance(node, ast.ClassDef) else (inner,)
            for decorator in node.decorator_list:
                yield from _named_by(decorator, tests)
        if isinstance(node, ast.ClassDef):
            yield from _marks(node, f"{name}::{node.name}")


def _tests(scope: ast.Module | ast.ClassDef, name: str) -> tuple[str, ...]:
    found: list[str] = []
    for node in scope.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found += _tests(node, f"{name}::{node.name}")
        elif isinstance(node, Definition) and node.name.startswith("test"):
            found.append(f"{name}::{node.name}")
    return tuple(found)


def _named_by(tree: ast.AST, tests: tuple[str, ...]) -> Iterator[Mark]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
            for argument in node.args or [node]:
                value = argument.value if isinstance(argument, ast.Constant) else None
                clause = value if isinstance(value, str) else ast.unparse(argument)
                yield Mark(clause, node.lineno, tests)


def coverage(root: Path = ROOT) -> tuple[dict[str, list[str]], list[str]]:
    """Return the tests of each clause, and the markers whose clause is unknown."""
    covered: dict[str, list[str]] = {c: [] for c in read_clauses(root / "docs/spec-clauses.txt")}
    problems = []
    for path in sorted((root / "tests").rglob("*.py")):
        shown_as = path.relative_to(root).as_posix()
        for mark in marks_in(path, shown_as):
            if mark.clause not in covered:
                problems.append(f"{shown_as}:{mark.line}: no such clause: {mark.clause}")
            else:
                new = [test for test in mark.tests if test not in covered[mark.clause]]
                covered[mark.clause] += new
    return covered, problems


def show(covered: dict[str, list[str]], titles: dict[str, str]) -> None:
    """Print the table, then what is missing."""
    for clause, tests in covered.items():
        print(f"{clause:<5} {len(tests):>4}  {titles[clause]}")
        for test in tests:
            print(f"{'':12}{test}")
    missing = [clause for clause, tests in covered.items() if not tests]
    print(f"\n{len(covered) - len(missing)} of {len(covered)} clauses have a test.")
    for clause in missing:
        print(f"no test: {clause} {titles[clause]}")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    wants_json = parser.parse_args(arguments).json
    covered, problems = coverage(root)
    titles = read_clauses(root / "docs/spec-clauses.txt")
    if wants_json:
        rows = [{"clause": c, "title": titles[c], "tests": tests} for c, tests in covered.items()]
        print(json.dumps({"clauses": rows, "problems": problems}, indent=2))
    else:
        show(covered, titles)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
