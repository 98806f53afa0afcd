"""Answers every request a page makes. The page itself has no network.

Requests arrive over the debugging protocol and are answered from what the caller supplied:
the document, and resources by URL. Everything else is refused and remembered, so that the
render's record can say what the page wanted and did not get.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from framekiln.capture.cdp import Connection, Params

# A trustworthy origin by definition, so pages get every API that needs a secure context.
PAGE_URL: Final = "http://127.0.0.1/"
LARGEST_BODY_BYTES: Final = 64 << 20
"""Chromium takes messages of 100 MiB, and a body is a third larger in one; after that it hangs."""
_REMEMBERED: Final = 100


@dataclass(frozen=True)
class Resource:
    """The answer to one request."""

    body: bytes
    content_type: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    """Beside those that every answer has, or in their place."""


Lookup = Callable[[str], Resource | None]


@dataclass
class PageNetwork:
    """The only network a page has. Owned by the page's thread."""

    document: Resource
    lookup: Lookup
    refused: list[str] = field(default_factory=list)
    _document_sent: bool = False

    def attach(self, connection: Connection, session: str) -> None:
        """Start answering the requests of a session."""
        connection.listen(
            "Fetch.requestPaused", session, lambda params: self._answer(connection, session, params)
        )
        patterns = {"patterns": [{"urlPattern": "*"}]}
        connection.call("Fetch.enable", patterns, session=session, within_s=10)

    def _answer(self, connection: Connection, session: str, params: Params) -> None:
        resource = self._find(params["request"]["url"], str(params.get("resourceType")))
        if resource is None:
            reply: dict[str, Any] = {
                "requestId": params["requestId"],
                "errorReason": "BlockedByClient",
            }
            connection.abandon(connection.post("Fetch.failRequest", reply, session=session))
            return
        reply = {
            "requestId": params["requestId"],
            "responseCode": resource.status,
            "responseHeaders": _headers(resource),
            "body": base64.b64encode(resource.body).decode("ascii"),
        }
        connection.abandon(connection.post("Fetch.fulfillRequest", reply, session=session))

    def _find(self, url: str, kind: str) -> Resource | None:
        if re.split("[?#]", url, maxsplit=1)[0] == PAGE_URL and not self._document_sent:
            self._document_sent = True
            return self.document
        # Only the composition itself is a document: a page may not navigate away.
        found = None if kind == "Document" else self.lookup(url)
        if found is not None and len(found.body) > LARGEST_BODY_BYTES:
            found = None
        # Chromium asks for an icon by itself; no page means it.
        if found is None and url != PAGE_URL + "favicon.ico":
            self._remember(url if len(url) <= 300 else url[:297] + "...")
        return found

    def _remember(self, url: str) -> None:
        # A page may ask without end.
        if len(self.refused) < _REMEMBERED and url not in self.refused:
            self.refused.append(url)


def _headers(resource: Resource) -> list[dict[str, str]]:
    headers = {
        "Content-Type": resource.content_type,
        "Access-Control-Allow-Origin": "*",
        # Before it sends anything but a plain request, the browser asks if it may.
        "Access-Control-Allow-Headers": "*",
        "Access-Control-Allow-Methods": "*",
        "Cache-Control": "no-store",
        **dict(resource.headers),
    }
    return [{"name": name, "value": value} for name, value in headers.items()]


def nothing(_url: str) -> Resource | None:
    """Know no resources: for pages that bring everything themselves."""
    return None
