"""A module is named by a noun: not for what it is doing (`loading`), but for what it is."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src/**/*.py", "tests/support/**/*.py")
GERUND = re.compile(r"([a-z0-9_]*_)?([a-z]{2,}ing)")
# Nouns of the field, which have no plainer word.
NOUNS = {"easing", "mapping", "mastering", "scheduling", "string", "wiring"}


def problems(root: Path) -> Iterator[str]:
    """Yield `path:line: message` for each module or folder named by a gerund."""
    for pattern in SOURCES:
        for path in sorted(root.glob(pattern)):
            where = path.relative_to(root)
            for name in (*where.parts[:-1], where.stem):
                found = GERUND.fullmatch(name)
                if found and found[2] not in NOUNS:
                    yield f"{where.as_posix()}:1: {name!r} is a gerund; name it by a noun"


if __name__ == "__main__":
    found = list(problems(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
