"""Wall-clock time comes from `kit/clock.py` alone; `time.monotonic` is free to use."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAST_WORDS = {"now", "utcnow", "today", "time", "time_ns"}
WALL_CLOCK = re.compile(r"(.+\.)?(datetime\.(now|utcnow|today)|date\.today|time\.time(_ns)?)")


def problems(root: Path) -> Iterator[str]:
    """Yield `path:line: message` for each look at the machine's clock."""
    for path in sorted((root / "src").rglob("*.py")):
        if path.parts[-2:] == ("kit", "clock.py"):
            continue
        where = path.relative_to(root).as_posix()
        for line, name in wall_clock_uses(ast.parse(path.read_text(encoding="utf-8"))):
            yield f"{where}:{line}: {name} is for kit/clock.py only; take a Clock and ask it"


def wall_clock_uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each use, called or passed on."""
    for node in ast.walk(tree):
        # The last word first: the text of every attribute would take seconds.
        if isinstance(node, ast.Attribute) and node.attr in LAST_WORDS:
            name = ast.unparse(node)
            if WALL_CLOCK.fullmatch(name):
                yield node.lineno, name
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            for imported in {"time", "time_ns"} & {alias.name for alias in node.names}:
                yield node.lineno, f"time.{imported}"


if __name__ == "__main__":
    found = list(problems(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
