"""SQL text stands only in stores (`store.py`, `*_store.py`, `stores/`), in `db/` and in `jobs/`."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Upper-case words alone, or lower-case ones in the shape of a statement: prose is neither.
SQL = re.compile(
    r"\s*(SELECT\s|INSERT\s+INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|WITH\s+\w+\s+AS\s"
    r"|(?i:select\s.+\sfrom\s|insert\s+into\s+\S+|update\s+\S+\s+set\s|delete\s+from\s+\S+"
    r"|with\s+(recursive\s+)?\w+(\s*\([^)]*\))?\s+as\s+((not\s+)?materialized\s+)?\())",
    re.DOTALL,
)


def problems(root: Path) -> Iterator[str]:
    """Yield `path:line: message` for each SQL text out of place."""
    for path in sorted((root / "src").rglob("*.py")):
        where = path.relative_to(root)
        if path.stem.split("_")[-1] == "store" or {"db", "jobs", "stores"} & set(where.parts[:-1]):
            continue
        for line in sorted(set(sql_lines(ast.parse(path.read_text(encoding="utf-8"))))):
            yield f"{where.as_posix()}:{line}: SQL belongs in a store, db/ or jobs/"


def sql_lines(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of string literals that are SQL; docstrings are prose."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (getattr(value, "value", "") for value in node.values)
            text = "".join(part if isinstance(part, str) else "x" for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if id(node) not in prose and SQL.match(text):
            yield node.lineno


if __name__ == "__main__":
    found = list(problems(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
