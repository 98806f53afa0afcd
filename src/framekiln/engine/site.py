"""The unpacked files of a bundle, served to its page and to nobody else."""

import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from framekiln.capture.network import PAGE_URL, Resource, file_resource
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.kit.errors import InvalidInput

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
_SCRIPTS = {".html", ".htm", ".js", ".mjs", ".cjs"}


@dataclass(frozen=True)
class Site:
    """A folder whose files answer to their paths."""

    folder: Path

    def scripts(self) -> Iterator[bytes]:
        """Yield the text of every page and script in it."""
        for path in sorted(self.folder.rglob("*")):
            if path.suffix.lower() in _SCRIPTS and path.is_file():
                yield path.read_bytes()

    def find(self, url_path: str) -> Resource | None:
        """Return the file at a path of the page's origin; None outside the folder."""
        path = self.locate(url_path)
        return None if path is None else file_resource(path, _type_of(path))

    def locate(self, url_path: str) -> Path | None:
        """Return where that file lies; a page may ask for anything."""
        root = self.folder.resolve()
        try:
            path = (root / unquote(url_path).lstrip("/")).resolve()
            return path if path.is_relative_to(root) and path.is_file() else None
        except (OSError, ValueError):
            # A name that no file can have: too long, or with a zero byte.
            return None


class SiteAssets:
    """Assets of a bundle: its own files by their paths, everything else from elsewhere."""

    def __init__(self, site: Site, others: Assets) -> None:
        self._site = site
        self._others = others

    def fetch(self, url: str) -> LocalAsset:
        """Return the file behind a URL."""
        if not url.startswith(PAGE_URL):
            return self._others.fetch(url)
        path = self._site.locate(urlsplit(url).path)
        if path is None:
            raise InvalidInput(f"the bundle has no file {urlsplit(url).path[:200]}")
        return LocalAsset(path, _type_of(path))


def _type_of(path: Path) -> str:
    guessed = _TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]
    return guessed or "application/octet-stream"
