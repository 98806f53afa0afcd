"""Responds to every request of a page. The page itself has no network.

Requests arrive over the debugging protocol. Responses come from the caller: the document, and
resources by URL. All other requests are refused and recorded, so that the render's record can list
them.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final, Protocol

from framekiln.capture.cdp import CdpConnection, Params

# A trustworthy origin by definition, so that pages get the APIs of secure contexts.
PAGE_URL: Final = "http://127.0.0.1/"

MAX_BODY_BYTES: Final = 64 << 20
"""Chromium accepts messages of 100 MiB, base64 adds a third; with more than that it hangs."""
_PIECE_BYTES: Final = 8 << 20
"""The size of the parts in which a larger file is sent."""
_REMEMBERED: Final = 100
_MOVING_DRAWING: Final = re.compile(rb"<(?:animate|set)|@(?:-webkit-)?keyframes")
_OK: Final = 200
_PARTIAL: Final = 206
_NO_SUCH_PART: Final = 416
# Chromium reports both with one name.
_SCRIPTED: Final = ("Fetch", "XHR")
_OUR_URLS: Final = f"{PAGE_URL}__framekiln/"
_RANGE: Final = re.compile(r"bytes=([0-9]{1,15})-([0-9]{0,15})")


class Mention(Enum):
    """What the document, or a script requested so far, may use, by the words in it."""

    WEB_AUDIO = re.compile(rb"(?<!Offline)AudioContext")
    RANDOMNESS = re.compile(rb"crypto|randomUUID|getRandomValues")
    """Random numbers that differ each time; those of `Math.random` do not."""
    OFFSCREEN_CANVAS = re.compile(rb"transferControlToOffscreen")
    """A canvas that Chromium shows later than the frame in which a script draws on it."""
    VIEW_TRANSITION = re.compile(rb"startViewTransition")


class Content(Protocol):
    """A body that may be too large for one message, and is read in parts."""

    @property
    def size_bytes(self) -> int:
        """Its size."""
        ...

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to, not including, `end`; both are within its size."""
        ...


@dataclass(frozen=True)
class FileContent:
    """A local file as a body."""

    path: Path

    @property
    def size_bytes(self) -> int:
        """Its size."""
        return self.path.stat().st_size

    def read(self, start: int, end: int) -> bytes:
        """Return a part of it."""
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)


@dataclass(frozen=True)
class Resource:
    """The response to one request."""

    body: bytes | Content
    content_type: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    """In addition to the default headers, or replacing them."""


Lookup = Callable[[str], Resource | None]
AuthorPosition = Callable[[int, int], tuple[int, int]]
"""Maps a line and column of the document to its author's own text; all count from 0."""


def as_served(line: int, column: int) -> tuple[int, int]:
    """Return a position unchanged: for documents that are the author's own text."""
    return line, column


@dataclass
class PageNetwork:
    """The only network of a page. Owned by the page's thread."""

    document: Resource
    lookup: Lookup
    author_position: AuthorPosition = as_served
    """Maps a position of the document to its author's own text."""
    refused: list[str] = field(default_factory=list)
    is_running: bool = field(default=False, init=False)
    """Whether frame 0 has come: from then on, requests of scripts are noted."""
    late: list[str] = field(default_factory=list, init=False)
    """Requests of scripts since then, without our own."""
    mentions: set[Mention] = field(default_factory=set, init=False)
    has_moving_drawings: bool = field(default=False, init=False)
    """Whether a requested SVG image is animated: Chromium moves it from the first frame drawn."""
    _document_sent: bool = False

    def attach(self, connection: CdpConnection, session: str) -> None:
        """Start responding to the requests of a session."""
        connection.listen(
            "Fetch.requestPaused", session, lambda params: self._answer(connection, session, params)
        )
        patterns = {"patterns": [{"urlPattern": "*"}]}
        connection.call("Fetch.enable", patterns, session=session, within_s=10)

    def _answer(self, connection: CdpConnection, session: str, params: Params) -> None:
        request = params["request"]
        kind = str(params.get("resourceType"))
        if self.is_running and kind in _SCRIPTED and not request["url"].startswith(_OUR_URLS):
            _remember(self.late, request["url"])
        resource = self._find(request["url"], kind)
        if resource is not None:
            resource = _part_of(resource, _range_in(request), kind)
            if resource is None:
                _remember(self.refused, request["url"])
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
            "body": base64.b64encode(_bytes_of(resource)).decode("ascii"),
        }
        connection.abandon(connection.post("Fetch.fulfillRequest", reply, session=session))

    def _find(self, url: str, kind: str) -> Resource | None:
        found = self._look_up(url, kind)
        if found is not None and kind in ("Document", "Script"):
            # A script that is too large to search may use anything.
            text = found.body if isinstance(found.body, bytes) else None
            self.mentions |= {each for each in Mention if text is None or each.value.search(text)}
        if found is not None and found.content_type.startswith("image/svg"):
            body = found.body if isinstance(found.body, bytes) else b""
            self.has_moving_drawings |= _MOVING_DRAWING.search(body) is not None
        return found

    def _look_up(self, url: str, kind: str) -> Resource | None:
        if re.split("[?#]", url, maxsplit=1)[0] == PAGE_URL and not self._document_sent:
            self._document_sent = True
            return self.document
        # Only the composition itself is a document: a page may not navigate away.
        found = None if kind == "Document" else self.lookup(url)
        if found is not None and isinstance(found.body, bytes):
            found = found if len(found.body) <= MAX_BODY_BYTES else None
        # Chromium requests an icon on its own; it is not a request of the page.
        if found is None and url != PAGE_URL + "favicon.ico":
            _remember(self.refused, url)
        return found


def _remember(urls: list[str], url: str) -> None:
    url = url if len(url) <= 300 else url[:297] + "..."
    # A page may send any number of requests.
    if len(urls) < _REMEMBERED and url not in urls:
        urls.append(url)


def file_resource(path: Path, content_type: str) -> Resource:
    """Return a local file as a response; a large one is read while it is sent."""
    content = FileContent(path)
    is_small = content.size_bytes <= _PIECE_BYTES
    return Resource(path.read_bytes() if is_small else content, content_type)


def _range_in(request: Params) -> tuple[int, int | None] | None:
    """Return the requested range: its first byte, and the one after its last."""
    header = next((v for k, v in request.get("headers", {}).items() if k.lower() == "range"), "")
    match = _RANGE.fullmatch(header.replace(" ", ""))
    if match is None:
        return None
    return int(match[1]), int(match[2]) + 1 if match[2] else None


def _part_of(
    resource: Resource, asked: tuple[int, int | None] | None, kind: str
) -> Resource | None:
    """Return the part of a response to send: the requested range, all of it, or a first part.

    Only scripts get a first part of a body that is too large for one message: `fetch` reads the
    rest with `runtime/src/ranged_fetch.ts`. For other requests of such a body, return None.
    """
    body = resource.body
    size = len(body) if isinstance(body, bytes) else body.size_bytes
    is_large = size > MAX_BODY_BYTES
    if resource.status != _OK or (asked is None and not is_large):
        return resource
    if asked is None and kind not in _SCRIPTED:
        return None
    start, stop = asked or (0, None)
    if start >= size:
        total = ("Content-Range", f"bytes */{size}")
        return replace(resource, body=b"", status=_NO_SUCH_PART, headers=(*resource.headers, total))
    end = min(stop or size, size, start + (_PIECE_BYTES if is_large else MAX_BODY_BYTES))
    part = body[start:end] if isinstance(body, bytes) else body.read(start, end)
    headers = (
        ("Content-Range", f"bytes {start}-{end - 1}/{size}"),
        ("Accept-Ranges", "bytes"),
        ("Access-Control-Expose-Headers", "Content-Range, Accept-Ranges"),
    )
    return replace(resource, body=part, status=_PARTIAL, headers=resource.headers + headers)


def _bytes_of(resource: Resource) -> bytes:
    body = resource.body
    return body if isinstance(body, bytes) else body.read(0, body.size_bytes)


def _headers(resource: Resource) -> list[dict[str, str]]:
    headers = {
        "Content-Type": resource.content_type,
        "Access-Control-Allow-Origin": "*",
        # The browser sends a preflight request before any request that is not simple.
        "Access-Control-Allow-Headers": "*",
        "Access-Control-Allow-Methods": "*",
        "Cache-Control": "no-store",
        **dict(resource.headers),
    }
    return [{"name": name, "value": value} for name, value in headers.items()]


def no_resources(_url: str) -> Resource | None:
    """Return no resource: for pages that contain everything they need."""
    return None
