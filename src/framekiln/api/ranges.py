"""Sends blobs: whole, in part (RFC 9110 byte ranges), or as 304 when the caller has them.

One range is answered with 206. Several are answered with the whole blob, which the standard allows
and every client understands; media players never request several. An invalid Range header is
ignored, as the standard says, and so is one on HEAD.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from framekiln.api.errors import Problem, write_problem
from framekiln.api.remedies import REMEDIES
from framekiln.kit.errors import NotFound
from framekiln.storage.blob_store import BlobStore

MAX_RANGES = 64
RANGE_HEADER = re.compile(r"bytes=(.*)", re.IGNORECASE | re.DOTALL)
RANGE_SPEC = re.compile(r"([0-9]{0,19})-([0-9]{0,19})")
ENTITY_TAG = re.compile(r'(?:W/)?("[^"]*")')
PLAIN_NAME = re.compile(r"[^A-Za-z0-9 ._-]")


class ContentMissing(NotFound):
    """The record exists, but its content does not."""

    code = "content_not_found"


@dataclass(frozen=True)
class ByteSpan:
    """Bytes from `start` up to, not including, `end`; never empty."""

    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """The number of bytes."""
        return self.end - self.start


@dataclass(frozen=True)
class Unsatisfiable:
    """A well-formed range outside the content."""


@dataclass(frozen=True)
class Validators:
    """The identifiers of one version of the content."""

    etag: str
    """Strong, quotes included."""
    last_modified: datetime
    """In UTC and whole seconds, as in HTTP."""


async def blob_response(  # noqa: PLR0913 - each is one header of the answer
    request: Request,
    blobs: BlobStore,
    key: str,
    *,
    media_type: str,
    filename: str,
    etag: str,
    last_modified: datetime,
    missing: str = "the content no longer exists",
) -> Response:
    """Answer GET or HEAD with the blob at `key`; `etag` is any text that changes with the bytes.

    Where there is no blob, the error says `missing`.
    """
    info = await blobs.info(key)
    if info is None:
        raise ContentMissing(missing)
    validators = Validators(
        etag=f'"{quote(etag, safe="")}"',
        last_modified=last_modified.astimezone(UTC).replace(microsecond=0),
    )
    headers = {
        "Accept-Ranges": "bytes",
        # Only the reader may cache it, and must revalidate it each time.
        "Cache-Control": "private, no-cache",
        "ETag": validators.etag,
        "Last-Modified": format_datetime(validators.last_modified, usegmt=True),
        "X-Content-Type-Options": "nosniff",
    }
    if is_unchanged(request.headers, validators):
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = content_disposition(filename)
    headers["Content-Type"] = media_type
    headers["Content-Length"] = str(info.size_bytes)
    if request.method == "HEAD":
        return Response(headers=headers)
    span = _asked_span(request.headers, validators, info.size_bytes)
    if isinstance(span, Unsatisfiable):
        return _unsatisfiable(request, info.size_bytes)
    if span is None:
        return StreamingResponse(blobs.stream(key), headers=headers)
    headers["Content-Length"] = str(span.size_bytes)
    headers["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{info.size_bytes}"
    chunks = blobs.stream(key, start=span.start, end=span.end)
    return StreamingResponse(chunks, status_code=206, headers=headers)


def parse_range(header: str, size_bytes: int) -> ByteSpan | Unsatisfiable | None:
    """Return the requested span; None when the whole content is to be sent."""
    match = RANGE_HEADER.fullmatch(header.strip())
    if match is None:
        return None
    # HTTP allows empty members in every list.
    specs = [spec for part in match[1].split(",") if (spec := part.strip(" \t"))]
    if not 0 < len(specs) <= MAX_RANGES:
        return None
    spans = [_parse_spec(spec, size_bytes) for spec in specs]
    if None in spans:
        return None
    if all(isinstance(span, Unsatisfiable) for span in spans):
        return Unsatisfiable()
    return spans[0] if len(spans) == 1 else None


def is_unchanged(headers: Mapping[str, str], validators: Validators) -> bool:
    """Return whether the caller already has this version."""
    if_none_match = headers.get("if-none-match")
    if if_none_match is not None:
        tags = ENTITY_TAG.findall(if_none_match)
        return if_none_match.strip() == "*" or validators.etag in tags
    since = _parse_date(headers.get("if-modified-since", ""))
    return since is not None and validators.last_modified <= since


def is_same_version(if_range: str, validators: Validators) -> bool:
    """Return whether a part of this version continues the content that the caller has."""
    value = if_range.strip()
    if value.startswith(('"', "W/")):
        # A weak tag promises only equivalent content, which is not enough to join parts.
        return value == validators.etag
    return _parse_date(value) == validators.last_modified


def content_disposition(filename: str) -> str:
    """Return the header that names the file for downloads, in ASCII and in UTF-8."""
    plain = PLAIN_NAME.sub("_", filename)
    full = quote(filename.encode("utf-8", "replace"), safe="")
    return f"inline; filename=\"{plain}\"; filename*=UTF-8''{full}"


def _asked_span(
    headers: Mapping[str, str], validators: Validators, size_bytes: int
) -> ByteSpan | Unsatisfiable | None:
    asked = headers.get("range")
    if asked is None:
        return None
    if_range = headers.get("if-range")
    if if_range is not None and not is_same_version(if_range, validators):
        return None
    return parse_range(asked, size_bytes)


def _parse_spec(spec: str, size_bytes: int) -> ByteSpan | Unsatisfiable | None:
    """Return one `first-last`, `first-` or `-length`; None when it is none of them."""
    match = RANGE_SPEC.fullmatch(spec)
    if match is None or spec == "-":
        return None
    first, last = match.groups()
    if not first:
        return _suffix(int(last), size_bytes)
    start = int(first)
    if last and int(last) < start:
        return None
    if start >= size_bytes:
        return Unsatisfiable()
    return ByteSpan(start, min(int(last) + 1, size_bytes) if last else size_bytes)


def _suffix(length: int, size_bytes: int) -> ByteSpan | Unsatisfiable | None:
    if length == 0:
        return Unsatisfiable()
    if size_bytes == 0:
        # Satisfiable, but 206 cannot express zero bytes: send the whole, which is empty.
        return None
    return ByteSpan(max(0, size_bytes - length), size_bytes)


def _unsatisfiable(request: Request, size_bytes: int) -> Response:
    problem = Problem(
        416,
        "range_not_satisfiable",
        f"the content has {size_bytes} bytes, none of them in the requested range",
        {"size_bytes": size_bytes},
        headers={"Accept-Ranges": "bytes", "Content-Range": f"bytes */{size_bytes}"},
        remedy=REMEDIES["range_not_satisfiable"],
    )
    return write_problem(request.scope, problem)


def _parse_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed
