"""The scope of a token: a path, everything below it, and query values. Pure.

Paths are compared as the router sees them, decoded once and split at slashes. An ambiguous path
(dot segments, empty segments, backslashes) is never signed and never covered. The origin is not
compared: behind a proxy the service does not know its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from framekiln.identity.errors import UnsignableUrl

MAX_URL_CHARS = 8192
MAX_PARAMS = 64

API = ("api", "v1")
TRANSCODE = (*API, "transcode")
V2_VIDEOS = ("v2", "videos")
UPLOAD = "upload"

Segments = tuple[str, ...]


@dataclass(frozen=True)
class RequestTarget:
    """A request: its path, decoded once, and its query in order."""

    path: str
    query: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Scope:
    """The signed path and query; `params` has all values of each name, in order."""

    segments: Segments
    params: Mapping[str, Sequence[str]]
    is_wide: bool = False
    """Whether everything below the path is covered, for any path."""

    @property
    def path(self) -> str:
        """The path in canonical percent-encoding."""
        return quote("/" + "/".join(self.segments))

    def mismatch(self, asked: RequestTarget) -> str | None:
        """Return why a read request is not covered, or None if it is."""
        found = split_path(asked.path)
        if found != self.segments and not (
            self._has_below and found is not None and _is_below(found, self.segments)
        ):
            return f"it was signed for {self.path}"
        return self._other_params(asked)

    def upload_mismatch(self, asked: RequestTarget) -> str | None:
        """Return why an upload is not covered; only upload paths and collections cover any."""
        found = split_path(asked.path)
        is_in_collection = (
            self._is_collection
            and found is not None
            and _is_below(found, self.segments)
            and found[-1] == UPLOAD
        )
        if not self.is_for_uploads or (found != self.segments and not is_in_collection):
            return f"it was signed for {self.path}"
        return self._other_params(asked)

    @property
    def is_for_uploads(self) -> bool:
        """Whether it was signed for uploads: an upload path, or a whole collection."""
        is_upload = self.segments[:2] == API and self.segments[-1] == UPLOAD
        return is_upload or self._is_collection

    @property
    def _is_collection(self) -> bool:
        return self.segments[:2] == API and len(self.segments) == 3

    @property
    def _has_below(self) -> bool:
        """Whether paths below are covered: unless it is wide, only those below one resource.

        Players sign any URL that a page contains. A token for `/` or `/api/v1/files` must not give
        the author of the page access to everything.
        """
        if self.is_wide:
            return True
        if self.segments[:3] == TRANSCODE:
            return "url" in self.params
        if self.segments[:2] == V2_VIDEOS:
            return len(self.segments) > 2
        return self.segments[:2] == API and len(self.segments) > 3

    def _other_params(self, asked: RequestTarget) -> str | None:
        for name, values in self.params.items():
            # All values: the route could use the second one.
            if [value for key, value in asked.query if key == name] != list(values):
                return f"it was signed for another `{name}`"
        return None


def read_scope(url: str, params: Mapping[str, str] | None = None) -> Scope:
    """Return the scope of a token for this URL; `params` replace values in its query."""
    if len(url) > MAX_URL_CHARS or not url.isprintable() or " " in url or "\\" in url:
        raise _unsignable(
            f"must have at most {MAX_URL_CHARS} characters, no space and no backslash"
        )
    try:
        parts = urlsplit(url)
        path = unquote(parts.path, errors="strict")
        query = parse_qsl(
            parts.query, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMS
        )
    except ValueError as error:
        raise _unsignable("is malformed, or its query has too many values") from error
    if parts.scheme not in ("", "http", "https") or not path.startswith("/"):
        raise _unsignable("must be an http(s) address, or a path that begins with a slash")
    segments = split_path(path)
    if segments is None:
        raise _unsignable("has `.`, `..` or an empty segment in its path")
    return Scope(segments, _merged(query, params or {}))


def split_path(path: str) -> Segments | None:
    """Return the segments of a decoded path, or None if it is ambiguous."""
    if not path.startswith("/") or "\\" in path:
        return None
    segments = tuple(path[1:].removesuffix("/").split("/")) if path != "/" else ()
    return None if any(each in ("", ".", "..") for each in segments) else segments


def _is_below(path: Segments, prefix: Segments) -> bool:
    return len(path) > len(prefix) and path[: len(prefix)] == prefix


def _merged(
    query: Sequence[tuple[str, str]], params: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    merged: dict[str, tuple[str, ...]] = {}
    for name, value in query:
        merged[name] = (*merged.get(name, ()), value)
    merged |= {name: (value,) for name, value in params.items()}
    size = sum(len(name) + sum(map(len, values)) for name, values in merged.items())
    if len(merged) > MAX_PARAMS or size > MAX_URL_CHARS:
        raise UnsignableUrl(
            f"params: at most {MAX_PARAMS}, with {MAX_URL_CHARS} characters in total",
            field="params",
        )
    return merged


def _unsignable(reason: str) -> UnsignableUrl:
    return UnsignableUrl(f"url {reason}", field="url")
