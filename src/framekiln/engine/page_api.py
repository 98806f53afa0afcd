"""What a page with a runtime of its own asks its service for, whatever host it names.

Such a page plays in an editor, too, where a service stands behind it. While it is filmed nobody
does but us: what it names by address is fetched, reports are swallowed, and everything else is
asked of whoever answers for the service, or said to be missing.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Final, Protocol
from urllib.parse import urljoin

from framekiln.capture.network import PAGE_URL, Resource
from framekiln.engine.assets import LocalAsset
from framekiln.kit.errors import InvalidInput, NotFound

API_PREFIX: Final = "/api/v1/"
Fetch = Callable[[str], Resource]


class ServiceAnswers(Protocol):
    """Answers for the service behind a page; called from the film's thread, so it may block."""

    def answer(self, path: str, query: Mapping[str, str]) -> Resource | None:
        """Return what lies at a path below `API_PREFIX`, or raise a FramekilnError that says why
        it cannot be had; None if nothing ever lies there.
        """
        ...


class NoService:
    """For films that are made without a service."""

    def answer(self, path: str, query: Mapping[str, str]) -> Resource | None:
        """Refuse."""
        raise NotFound(
            f"{API_PREFIX}{path[:200]} is answered by a service, and this film is made without one"
        )


class PageApi:
    """Answers requests below `API_PREFIX`; `by_address` are those for what `src` names."""

    def __init__(self, service: ServiceAnswers, by_address: Mapping[str, Fetch]) -> None:
        self._service = service
        self._by_address = by_address

    def answer(self, path: str, query: Mapping[str, str]) -> Resource:
        """Return the answer to a request, or raise why there is none."""
        if path == "telemetry" or path.startswith("telemetry/"):
            return Resource(b"", "text/plain", status=204)
        if fetch := self._by_address.get(path):
            if "src" not in query:
                raise InvalidInput(f"{API_PREFIX}{path} needs src", field="src")
            return fetch(urljoin(PAGE_URL, query["src"]))
        if _lies_in_bundle(query.get("url", "")):
            raise NotFound(
                f"{query['url'][:200]} lies in the bundle, and no service can play it from there:"
                " upload it and name it by file-id, or name an https address"
            )
        answer = self._service.answer(path, query)
        if answer is None:
            raise NotFound(f"{API_PREFIX}{path[:200]} is not answered while a page is filmed")
        return answer


def _lies_in_bundle(url: str) -> bool:
    # Files of the service seem to lie on the page's own host, too.
    return url.startswith(PAGE_URL) and not url.startswith(urljoin(PAGE_URL, API_PREFIX))


def md5_of(asset: LocalAsset) -> str:
    """Return the sum of an asset as such pages write it: with the dashes of a UUID."""
    with asset.path.open("rb") as file:
        plain = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))
