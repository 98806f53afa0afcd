"""A module is named for what it holds: never utils, helpers, common, manager or base."""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src/**/*.py", "tests/**/*.py", "scripts/**/*.py", "runtime/src/**/*.ts")
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "base"}


def problems(root: Path) -> Iterator[str]:
    """Yield `path:line: message` for each module or folder with a vague name."""
    for pattern in SOURCES:
        for path in sorted(root.glob(pattern)):
            where = path.relative_to(root)
            words = {*where.parts[:-1], where.name.split(".")[0].lstrip("_")}
            for word in sorted(words & VAGUE):
                yield f"{where.as_posix()}:1: {word!r} says nothing; name it for what it holds"


if __name__ == "__main__":
    found = list(problems(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
