"""Tasks of confined children are named by strings, which no type checker follows."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TASK_NAME = re.compile(r"(framekiln|tests)(\.\w+)+:\w+")


def literals(folder: str) -> dict[str, list[tuple[str, bool]]]:
    """Return where each name of a task stands, and whether that is a constant of a module."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Few modules name one, and every process of a test run would parse all of them.
        if not TASK_NAME.search(text):
            continue
        tree = ast.parse(text)
        assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
        constants = {id(node.value) for node in assigned}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if TASK_NAME.fullmatch(node.value):
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                found.setdefault(node.value, []).append((where, id(node) in constants))
    return found


IN_SRC = literals("src")
IN_TESTS = literals("tests")


@pytest.mark.parametrize("name", sorted(IN_SRC | IN_TESTS))
def test_a_task_is_a_function(name: str) -> None:
    module, _, function = name.partition(":")
    assert callable(getattr(importlib.import_module(module), function, None))


@pytest.mark.parametrize("name", sorted(IN_SRC))
def test_a_task_is_named_once_by_a_constant(name: str) -> None:
    ((where, is_constant),) = IN_SRC[name]
    assert is_constant, f"{where}: make it a constant"
