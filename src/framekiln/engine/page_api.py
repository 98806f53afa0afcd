"""What a page with a runtime of its own asks its service for, whatever host it names.

Such a page plays in an editor, too, where a service stands behind it. While it is filmed nobody
does but us: what it names by address, on the web or in its bundle, is fetched and played from
here, reports are swallowed, and everything else is asked of whoever answers for the service, or
said to be missing.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar
from urllib.parse import urljoin, urlsplit

from framekiln.capture.network import PAGE_URL, Resource
from framekiln.engine.assets import FILE_ID, LocalAsset
from framekiln.kit.errors import FramekilnError, InvalidInput, NotFound

API_PREFIX: Final = "/api/v1/"
FILES_PATH: Final = "/api/v1/files/"

# Requests that name a source by address, and where in the query they do.
_PLAYED: Final = (
    (re.compile(r"transcode/.+"), "url"),
    (re.compile(r"files/(index|track)"), "src"),
)
# Without these an element has nothing to show.
_SOURCES: Final = re.compile(
    r"transcode/manifest\.json|files/(?!md5$)[^/]+(/index)?|assets/(image|captions)"
)
# Players also try the segment after the last, and tracks that not every file has.
_PARTS: Final = re.compile(r"transcode/[^/]+/.+|files/track|files/[^/]+/tracks/.+")


Route = TypeVar("Route")


class PageRoutes(Generic[Route]):
    """Routes by pattern, in which `*` stands for a part of the path; the first that fits counts."""

    def __init__(self, *routes: tuple[str, Route]) -> None:
        self._routes = [
            (re.compile(pattern.replace("*", "([^/]+)")), route) for pattern, route in routes
        ]

    def find(self, path: str) -> tuple[Route, tuple[str, ...]] | None:
        """Return the route of a path, and what its stars stand for."""
        for pattern, route in self._routes:
            if match := pattern.fullmatch(path):
                return route, match.groups()
        return None


class PageServiceBackend(Protocol):
    """Answers for the service behind a page; called from the film's thread, so it may block."""

    def answer(self, path: str, query: Mapping[str, str]) -> Resource | None:
        """Return what lies at a path below `API_PREFIX`, or raise a FramekilnError that says why
        it cannot be had; None if nothing ever lies there.
        """
        ...

    def play(self, path: str, query: Mapping[str, str], source: LocalAsset) -> Resource | None:
        """Return the same for a path at which a source by address is played, from its file."""
        ...


class NoService:
    """For films that are made without a service, of pages that play nothing."""

    def answer(self, path: str, query: Mapping[str, str]) -> Resource | None:
        """Refuse."""
        raise NotFound(
            f"{API_PREFIX}{path[:200]} is answered by a service, and this film is made without one"
        )

    def play(self, path: str, query: Mapping[str, str], source: LocalAsset) -> Resource | None:
        """Refuse."""
        return self.answer(path, query)


@dataclass(frozen=True)
class PageApi:
    """Answers requests below `API_PREFIX`.

    `fetch` gets what lies at an address; `by_address` are answers about what `src` names.
    """

    service: PageServiceBackend
    fetch: Callable[[str], LocalAsset]
    by_address: Mapping[str, Callable[[str], Resource]]

    def answer(self, path: str, query: Mapping[str, str]) -> Resource:
        """Return the answer to a request, or raise why there is none."""
        if path == "telemetry" or path.startswith("telemetry/"):
            return Resource(b"", "text/plain", status=204)
        if about := self.by_address.get(path):
            if "src" not in query:
                raise InvalidInput(f"{API_PREFIX}{path} needs src", field="src")
            return about(urljoin(PAGE_URL, query["src"]))
        address = _played_address(path, query)
        if address is None:
            answer = self.service.answer(path, query)
        else:
            answer = self.service.play(path, query, self.fetch(address))
        if answer is None:
            raise NotFound(f"{API_PREFIX}{path[:200]} is not answered while a page is filmed")
        return answer


def is_required_source(path: str, error: FramekilnError) -> bool:
    """Tell whether a film is wrong without what a page asked for below `API_PREFIX` in vain."""
    if _PARTS.fullmatch(path):
        return not isinstance(error, NotFound | InvalidInput)
    return _SOURCES.fullmatch(path) is not None


def _played_address(path: str, query: Mapping[str, str]) -> str | None:
    """Return the address of the source that is played; None if it is a file of the service."""
    for pattern, name in _PLAYED:
        if pattern.fullmatch(path) and (named := query.get(name)):
            address = urljoin(PAGE_URL, named)
            is_stored = address.startswith(FILE_ID) or _path_of(address).startswith(FILES_PATH)
            return None if is_stored else address
    return None


def _path_of(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError:
        return ""


def md5_of(asset: LocalAsset) -> str:
    """Return the sum of an asset as such pages write it: with the dashes of a UUID."""
    with asset.path.open("rb") as file:
        plain = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))
