"""The API that a page with an external runtime requests from its service, on whatever host.

Such a page expects a service, as it has in an editor. While it is rendered, we answer instead:
sources by address, of the web, its bundle or uploads, are fetched and played here; telemetry is
dropped; all other requests go to a `PageServiceBackend`, or are answered as not found.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar
from urllib.parse import urljoin, urlsplit

from framekiln.capture.network import PAGE_URL, Resource
from framekiln.engine.assets import FILE_ID, LocalAsset
from framekiln.kit.errors import FramekilnError, InvalidInput, NotFound

API_PREFIX: Final = "/api/v1/"
FILES_PATH: Final = "/api/v1/files/"

# Requests with the address of a source, and the query parameter that has it.
_PLAYED: Final = (
    (re.compile(r"transcode/.+"), "url"),
    (re.compile(r"files/(index|track)"), "src"),
)
# Sources without which an element has nothing to show.
_SOURCES: Final = re.compile(
    r"transcode/manifest\.json|files/(?!md5$)[^/]+(/index)?|assets/(image|captions)"
)
# Players also request the segment after the last, and tracks that a file may not have.
_PARTS: Final = re.compile(r"transcode/[^/]+/.+|files/track|files/[^/]+/tracks/.+")
_UPLOAD: Final = re.compile(re.escape(FILES_PATH) + "([^/]+)")

Route = TypeVar("Route")


class PageRoutes(Generic[Route]):
    """Routes by pattern, in which `*` matches one part of the path; the first match counts."""

    def __init__(self, *routes: tuple[str, Route]) -> None:
        self._routes = [
            (re.compile(pattern.replace("*", "([^/]+)")), route) for pattern, route in routes
        ]

    def find(self, path: str) -> tuple[Route, tuple[str, ...]] | None:
        """Return the route of a path, and what its `*` match."""
        for pattern, route in self._routes:
            if match := pattern.fullmatch(path):
                return route, match.groups()
        return None


class PageServiceBackend(Protocol):
    """The service that a page expects; called from the film's thread, so it may block."""

    def answer(self, path: str, query: Mapping[str, str]) -> Resource | None:
        """Return the answer to a path below `API_PREFIX`, or raise a FramekilnError; None if the
        path is unknown.
        """
        ...

    def play(self, path: str, query: Mapping[str, str], source: LocalAsset) -> Resource | None:
        """Return the answer to a path that plays a source by address, from its local file."""
        ...

    def original_of(self, path: str) -> str | None:
        """Return the address of an upload whose tracks are requested and may lack transparency."""
        ...


class NoService:
    """For films that are made without a service."""

    def answer(self, path: str, query: Mapping[str, str]) -> Resource | None:
        """Refuse."""
        raise NotFound(
            f"{API_PREFIX}{path[:200]} is answered by a service, and this film is made without one"
        )

    def play(self, path: str, query: Mapping[str, str], source: LocalAsset) -> Resource | None:
        """Refuse."""
        return self.answer(path, query)

    def original_of(self, path: str) -> str | None:
        """There are no uploads."""
        return None


@dataclass(frozen=True)
class PageApi:
    """Answers requests below `API_PREFIX`.

    `fetch` returns the file at an address; `by_address` has the requests about the source in `src`.
    """

    service: PageServiceBackend
    fetch: Callable[[str], LocalAsset]
    by_address: Mapping[str, Callable[[str], Resource]]

    def answer(self, path: str, query: Mapping[str, str]) -> Resource:
        """Return the answer to a request, or raise a FramekilnError."""
        if path == "telemetry" or path.startswith("telemetry/"):
            return Resource(b"", "text/plain", status=204)
        if about := self.by_address.get(path):
            if "src" not in query:
                raise InvalidInput(f"{API_PREFIX}{path} needs src", field="src")
            return about(urljoin(PAGE_URL, query["src"]))
        address = _played_address(path, query)
        if address is None:
            answer = self.service.answer(path, query)
            if original := self.service.original_of(path):
                # For the warning alone: the tracks can be played without it.
                with suppress(FramekilnError):
                    self.fetch(original)
        else:
            answer = self.service.play(path, query, self.fetch(address))
        if answer is None:
            raise NotFound(f"{API_PREFIX}{path[:200]} is not answered while a page is filmed")
        return answer


def is_required_source(path: str, error: FramekilnError) -> bool:
    """Return whether a failed request below `API_PREFIX` makes the film wrong."""
    if _PARTS.fullmatch(path):
        return not isinstance(error, NotFound | InvalidInput)
    return _SOURCES.fullmatch(path) is not None


def _played_address(path: str, query: Mapping[str, str]) -> str | None:
    """Return the address of the source to play; None if the request names none."""
    for pattern, name in _PLAYED:
        if pattern.fullmatch(path) and (named := query.get(name)):
            address = urljoin(PAGE_URL, named)
            # Whatever the host: behind a proxy the service does not know its own.
            upload = _UPLOAD.match(_path_of(address))
            return FILE_ID + upload[1] if upload else address
    return None


def _path_of(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:
        return ""


def md5_of(asset: LocalAsset) -> str:
    """Return the MD5 of an asset, with dashes like a UUID, as external runtimes write it."""
    with asset.path.open("rb") as file:
        plain = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))
