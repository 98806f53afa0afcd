"""Answers every request a page makes. The page itself has no network.

Requests arrive over the debugging protocol and are answered from what the caller supplied:
the document, and resources by URL. Everything else is refused and remembered, so that the
render's record can say what the page wanted and did not get.
"""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from framekiln.capture.cdp import CdpConnection, Params

# A trustworthy origin by definition, so pages get every API that needs a secure context.
PAGE_URL: Final = "http://127.0.0.1/"

LARGEST_BODY_BYTES: Final = 64 << 20
"""Chromium takes messages of 100 MiB, and a body is a third larger in one; after that it hangs."""
_PIECE_BYTES: Final = 8 << 20
"""How much of a larger file is sent at a time."""
_REMEMBERED: Final = 100
_WEB_AUDIO: Final = re.compile(rb"(?<!Offline)AudioContext")
_OK: Final = 200
_PARTIAL: Final = 206
_NO_SUCH_PART: Final = 416
# Chromium has one name for both.
_SCRIPTED: Final = ("Fetch", "XHR")
_RANGE: Final = re.compile(r"bytes=([0-9]{1,15})-([0-9]{0,15})")


class Content(Protocol):
    """A body that may be too large for one message, and is read piece by piece."""

    @property
    def size_bytes(self) -> int:
        """How long it is."""
        ...

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to, not including, `end`; both lie in it."""
        ...


@dataclass(frozen=True)
class FileContent:
    """A file of this machine as a body."""

    path: Path

    @property
    def size_bytes(self) -> int:
        """How long it is."""
        return self.path.stat().st_size

    def read(self, start: int, end: int) -> bytes:
        """Return a part of it."""
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)


@dataclass(frozen=True)
class Resource:
    """The answer to one request."""

    body: bytes | Content
    content_type: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    """Beside those that every answer has, or in their place."""


Lookup = Callable[[str], Resource | None]
AuthorPosition = Callable[[int, int], tuple[int, int]]
"""Where a line and column of the document stand in its author's own text; all count from 0."""


def as_served(line: int, column: int) -> tuple[int, int]:
    """Return a position as it is: for documents that are their author's text."""
    return line, column


@dataclass
class PageNetwork:
    """The only network a page has. Owned by the page's thread."""

    document: Resource
    lookup: Lookup
    author_position: AuthorPosition = as_served
    """Where a position of the document stands in its author's own text."""
    refused: list[str] = field(default_factory=list)
    mentions_web_audio: bool = field(default=False, init=False)
    """Whether the document, or a script that was asked for until now, has the word for it."""
    _document_sent: bool = False

    def attach(self, connection: CdpConnection, session: str) -> None:
        """Start answering the requests of a session."""
        connection.listen(
            "Fetch.requestPaused", session, lambda params: self._answer(connection, session, params)
        )
        patterns = {"patterns": [{"urlPattern": "*"}]}
        connection.call("Fetch.enable", patterns, session=session, within_s=10)

    def _answer(self, connection: CdpConnection, session: str, params: Params) -> None:
        request = params["request"]
        kind = str(params.get("resourceType"))
        resource = self._find(request["url"], kind)
        if resource is not None:
            resource = _part_of(resource, _range_in(request), kind)
            if resource is None:
                self._remember(request["url"])
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
            # A script that is too large to be looked through may well be one for sound.
            body = found.body if isinstance(found.body, bytes) else b"AudioContext"
            self.mentions_web_audio |= _WEB_AUDIO.search(body) is not None
        return found

    def _look_up(self, url: str, kind: str) -> Resource | None:
        if re.split("[?#]", url, maxsplit=1)[0] == PAGE_URL and not self._document_sent:
            self._document_sent = True
            return self.document
        # Only the composition itself is a document: a page may not navigate away.
        found = None if kind == "Document" else self.lookup(url)
        if found is not None and isinstance(found.body, bytes):
            found = found if len(found.body) <= LARGEST_BODY_BYTES else None
        # Chromium asks for an icon by itself; no page means it.
        if found is None and url != PAGE_URL + "favicon.ico":
            self._remember(url)
        return found

    def _remember(self, url: str) -> None:
        url = url if len(url) <= 300 else url[:297] + "..."
        # A page may ask without end.
        if len(self.refused) < _REMEMBERED and url not in self.refused:
            self.refused.append(url)


def file_resource(path: Path, content_type: str) -> Resource:
    """Return a file of this machine as an answer; a large one is read as it is sent."""
    content = FileContent(path)
    is_small = content.size_bytes <= _PIECE_BYTES
    return Resource(path.read_bytes() if is_small else content, content_type)


def _range_in(request: Params) -> tuple[int, int | None] | None:
    """Return the part that a request asks for: its first byte, and the one after its last."""
    told = next((v for k, v in request.get("headers", {}).items() if k.lower() == "range"), "")
    match = _RANGE.fullmatch(told.replace(" ", ""))
    if match is None:
        return None
    return int(match[1]), int(match[2]) + 1 if match[2] else None


def _part_of(
    resource: Resource, asked: tuple[int, int | None] | None, kind: str
) -> Resource | None:
    """Return what is sent of an answer: the part asked for, all of it, or its first piece.

    Only scripts get a first piece, of what is too large for one message: `fetch` reads on by
    `runtime/src/large_answers.ts`. Whoever else asks for so much gets None.
    """
    body = resource.body
    size = len(body) if isinstance(body, bytes) else body.size_bytes
    is_large = size > LARGEST_BODY_BYTES
    if resource.status != _OK or (asked is None and not is_large):
        return resource
    if asked is None and kind not in _SCRIPTED:
        return None
    start, stop = asked or (0, None)
    if start >= size:
        total = ("Content-Range", f"bytes */{size}")
        return replace(resource, body=b"", status=_NO_SUCH_PART, headers=(*resource.headers, total))
    end = min(stop or size, size, start + (_PIECE_BYTES if is_large else LARGEST_BODY_BYTES))
    part = body[start:end] if isinstance(body, bytes) else body.read(start, end)
    told = (
        ("Content-Range", f"bytes {start}-{end - 1}/{size}"),
        ("Accept-Ranges", "bytes"),
        ("Access-Control-Expose-Headers", "Content-Range, Accept-Ranges"),
    )
    return replace(resource, body=part, status=_PARTIAL, headers=resource.headers + told)


def _bytes_of(resource: Resource) -> bytes:
    body = resource.body
    return body if isinstance(body, bytes) else body.read(0, body.size_bytes)


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


def no_resources(_url: str) -> Resource | None:
    """Know no resources: for pages that bring everything themselves."""
    return None
