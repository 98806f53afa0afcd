"""Turns the HTML of a composition into a complete document."""

import re
from dataclasses import dataclass
from typing import Final

# Comments are matched without backtracking: a comment could also end where a later one does, so
# thirty of them would take minutes.
_WHOLE_DOCUMENT: Final = re.compile(
    r"\s*+(?>(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)

# A fragment looks as in a player: no margins, and nothing outside of the frame.
_HEAD: Final = (
    '<!doctype html><html><head><meta charset="utf-8">'
    "<style>html,body{margin:0;height:100%;overflow:hidden}</style></head><body>"
)
_TAIL: Final = "</body></html>"


@dataclass(frozen=True)
class Document:
    """A complete document, and the character ranges that we added to it."""

    text: str
    ours: tuple[tuple[int, int], ...] = ()

    def with_inserted(self, inserted: str, at: int) -> "Document":
        """Return the document with more of our text inserted at a character offset."""
        moved = tuple(
            (start + len(inserted), end + len(inserted)) if start >= at else (start, end)
            for start, end in self.ours
        )
        text = self.text[:at] + inserted + self.text[at:]
        return Document(text, tuple(sorted((*moved, (at, at + len(inserted))))))

    def author_position(self, line: int, column: int) -> tuple[int, int]:
        """Return the position in the author's own text; all numbers count from 0.

        Columns are counted as in browsers, in UTF-16 code units.
        """
        lines = self.text.split("\n")
        if not self.ours or line >= len(lines):
            return line, column
        within = lines[line].encode("utf-16-le")[: 2 * column].decode("utf-16-le", "ignore")
        at = sum(len(before) + 1 for before in lines[:line]) + len(within)
        kept, last = [], 0
        for start, end in (*self.ours, (at, at)):
            kept.append(self.text[last : max(last, min(start, at))])
            last = max(last, end)
        before = "".join(kept)
        own_line = before[before.rfind("\n") + 1 :]
        return before.count("\n"), len(own_line.encode("utf-16-le")) // 2


def as_document(html: str) -> Document:
    """Return `html` unchanged if it is a document, else a document around the fragment."""
    if _WHOLE_DOCUMENT.match(html):
        return Document(html)
    end = len(_HEAD) + len(html)
    ours = ((0, len(_HEAD)), (end, end + len(_TAIL)))
    return Document(f"{_HEAD}{html}{_TAIL}", ours)
