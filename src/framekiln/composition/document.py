"""What is sent as a composition becomes a whole HTML document."""

import re
from typing import Final

_WHOLE_DOCUMENT: Final = re.compile(
    r"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)

# A fragment is drawn as its author sees it in a player: no margins, nothing outside the frame.
_HEAD: Final = (
    '<!doctype html><html><head><meta charset="utf-8">'
    "<style>html,body{margin:0;height:100%;overflow:hidden}</style></head><body>"
)
_TAIL: Final = "</body></html>"


def as_document(html: str) -> str:
    """Return `html` itself when it is a document, else the document around the fragment."""
    if _WHOLE_DOCUMENT.match(html):
        return html
    return f"{_HEAD}{html}{_TAIL}"
