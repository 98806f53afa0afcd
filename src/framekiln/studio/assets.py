"""The built files of the studio, and the headers they are sent with."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final

from framekiln.kit.errors import NotFound

PREFIX: Final = "/studio/assets/"
PAGE_HEADERS: Final = {
    "Cache-Control": "no-cache",
    # No script or style that is not a file of ours; no page of others may show these pages.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; font-src 'self';"
    " worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# Pages of other origins load the player. It is the same for everybody, and has no data.
_OPEN_HEADERS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}
# Their names contain a hash of their content.
_ASSET_HEADERS: Final = {"Cache-Control": "public, max-age=31536000, immutable", **_OPEN_HEADERS}
_PLAYER_HEADERS: Final = {"Cache-Control": "no-cache", **_OPEN_HEADERS}
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class StudioFile:
    """A file with the headers of its response."""

    content: bytes
    media_type: str
    headers: dict[str, str]


def page(name: str) -> StudioFile:
    """Return one of the pages: `app` or `preview`."""
    return StudioFile(_content(f"{name}.html"), _TYPES[".html"], PAGE_HEADERS)


def player() -> StudioFile:
    """Return the script that other pages embed; it loads the current version of the player."""
    return StudioFile(_content("player.js"), _TYPES[".js"], _PLAYER_HEADERS)


def asset(name: str) -> StudioFile:
    """Return a script or style that a page loads."""
    media_type = _TYPES.get(PurePosixPath(name).suffix)
    if media_type is None or name not in _names():
        raise NotFound(f"the studio has no file {name[:100]!r}: load the page again")
    return StudioFile(_content(name), media_type, _ASSET_HEADERS)


@cache
def _names() -> frozenset[str]:
    return frozenset(each.name for each in files("framekiln.studio").joinpath("static").iterdir())


@cache
def _content(name: str) -> bytes:
    return files("framekiln.studio").joinpath("static", name).read_bytes()
