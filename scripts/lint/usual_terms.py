"""Names use the terms of the field: a sandbox, not a cage; a response, not what was told."""

import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src/**/*.py", "tests/**/*.py")
TERMS = {
    "brake": "pause switch",
    "cage": "sandbox",
    "crew": "worker pool",
    "studio": "thread pool",
    "told": "response, event or report",
    "ward": "process",
}


def problems(root: Path) -> Iterator[str]:
    """Yield `path:line: message` for each name with a word that has a usual term."""
    for path in sorted(file for pattern in SOURCES for file in root.glob(pattern)):
        if not re.search("|".join(TERMS), path.read_text(encoding="utf-8"), re.IGNORECASE):
            continue
        where = path.relative_to(root).as_posix()
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.NAME:
                    for word in sorted({*token.string.lower().split("_")} & TERMS.keys()):
                        yield f"{where}:{token.start[0]}: call {word!r} a {TERMS[word]}"


if __name__ == "__main__":
    found = list(problems(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
