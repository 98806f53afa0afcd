"""Names use the terms of the field: a sandbox, not a cage; a response, not what was told."""

import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("src/**/*.py", "tests/**/*.py")
TERMS = {
    "anew": "second or new one",
    "brake": "pause switch",
    "cage": "sandbox",
    "crew": "worker pool",
    "desk": "service or harness",
    "lent": "temporary key",
    "told": "response, event or report",
    "ward": "process",
    "whoever": "caller, user or process",
}
LIMIT = re.compile(r"_?(LONGEST|LARGEST|MOST|DEEPEST|SHORTEST|SMALLEST|LEAST)(_[A-Z0-9_]+)?")


def problems(root: Path) -> Iterator[str]:
    """Yield `path:line: message` for each name with a word that has a usual term."""
    for path in sorted(file for pattern in SOURCES for file in root.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        if not re.search("|".join(TERMS), text, re.IGNORECASE) and not LIMIT.search(text):
            continue
        where = path.relative_to(root).as_posix()
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.NAME:
                    for word in sorted({*token.string.lower().split("_")} & TERMS.keys()):
                        yield f"{where}:{token.start[0]}: call {word!r} a {TERMS[word]}"
                    if LIMIT.fullmatch(token.string):
                        yield f"{where}:{token.start[0]}: call {token.string} MAX_ or MIN_..."


if __name__ == "__main__":
    found = list(problems(ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
