"""The files beside a page, served to that page only: an unpacked bundle, or a local folder."""

import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from framekiln.capture.network import PAGE_URL, Resource, file_resource
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.kit.errors import InvalidInput

# Types that the machine's own tables may lack or define differently.
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
_SCRIPT_ENDING: Final = re.compile(rb"\.(?:[cm]?js|html?)\b")
_NO_PATH: Final = re.compile(rb"[^\w./@+~%-]")
_MAX_NAME_BYTES: Final = 200
_MAX_NAMED: Final = 1000


@dataclass(frozen=True)
class Site:
    """A folder whose files are served by their paths."""

    folder: Path

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "the bundle"

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
        """Return the local path of a file; None if there is none inside the folder."""
        root = self.folder.resolve()
        try:
            path = (root / unquote(url_path).lstrip("/")).resolve()
            return path if path.is_relative_to(root) and path.is_file() else None
        except (OSError, ValueError):
            # No file can have such a name: it is too long, or contains a zero byte.
            return None


@dataclass(frozen=True)
class PageFolder(Site):
    """The local folder of a page, with many files that the page does not use."""

    page: str
    """The HTML of the page."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        return str(self.folder)

    def locate(self, url_path: str) -> Path | None:
        """Return the local path of a file; hidden files, such as .env, are never served."""
        path = super().locate(url_path)
        if path is None:
            return None
        inside = path.relative_to(self.folder.resolve())
        return None if any(part.startswith(".") for part in inside.parts) else path

    def scripts(self) -> Iterator[bytes]:
        """Yield the text of scripts and pages that the page refers to, directly or indirectly."""
        seen: set[Path] = set()
        waiting = [("/", self.page.encode())]
        while waiting and len(seen) < _MAX_NAMED:
            named_at, text = waiting.pop()
            for name in _named_scripts(text):
                for base in {named_at, "/"}:
                    url_path = urljoin(base, name)
                    path = self.locate(urlsplit(url_path).path)
                    if path is not None and path not in seen:
                        seen.add(path)
                        waiting.append((url_path, path.read_bytes()))
                        yield waiting[-1][1]


class SiteAssets:
    """Assets of a page with a site: the site's files by path, all others from `others`."""

    def __init__(self, site: Site, others: Assets) -> None:
        self._site = site
        self._others = others

    def fetch(self, url: str) -> LocalAsset:
        """Return the file at a URL."""
        if not url.startswith(PAGE_URL):
            return self._others.fetch(url)
        path = self._site.locate(urlsplit(url).path)
        if path is None:
            missing = urlsplit(url).path[:200]
            raise InvalidInput(
                f"{self._site.name} has no file {missing}; add it, or correct the address"
            )
        return LocalAsset(path, _type_of(path))


def _named_scripts(text: bytes) -> set[str]:
    """Return everything in a text that may be the path of a script or page."""
    found = set()
    for ending in _SCRIPT_ENDING.finditer(text):
        # Search backwards from the extension: megabytes of text may consist of name characters.
        before = text[max(0, ending.start() - _MAX_NAME_BYTES) : ending.end()]
        found.add(_NO_PATH.split(before)[-1].decode(errors="replace"))
    return found


def _type_of(path: Path) -> str:
    guessed = _TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]
    return guessed or "application/octet-stream"
