"""The unpacked files of a bundle, served to its page and to nobody else."""

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from framekiln.capture.network import Resource

# What the machine's own tables may not know, or know differently.
_TYPES = {
    ".avif": "image/avif",
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class Site:
    """A folder whose files answer to their paths."""

    folder: Path

    def find(self, url_path: str) -> Resource | None:
        """Return the file at a path of the page's origin; None outside the folder."""
        root = self.folder.resolve()
        path = (root / unquote(url_path).lstrip("/")).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            return None
        guessed = _TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]
        return Resource(path.read_bytes(), guessed or "application/octet-stream")
