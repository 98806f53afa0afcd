"""Modules stay short enough to be read at one sitting."""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = {
    "src/**/*.py": 400,
    "runtime/src/**/*.ts": 400,
    "runtime/test/**/*.ts": 500,
    "tests/**/*.py": 500,
}


def problems(root: Path) -> Iterator[str]:
    """Yield `path:line: message` for each module over its limit."""
    for pattern, limit in MAX_LINES.items():
        for path in sorted(root.glob(pattern)):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > limit:
                where = path.relative_to(root).as_posix()
                yield f"{where}:{limit + 1}: {lines} lines, at most {limit}; split it by idea"


if __name__ == "__main__":
    found = list(problems(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
