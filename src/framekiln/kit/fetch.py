"""The guarded fetcher: every request to a URL from a caller goes through it.

Only https, only to public addresses. Each redirect is checked like a first request. Size and total
time are limited while reading. Hosts on the allow list may be private, use plain http and any port.
Proxies and credentials from the environment are never used.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpcore
import httpx

from framekiln.kit.atomic_file import Write, atomic_file
from framekiln.kit.content_version import ContentVersion, version_of_part
from framekiln.kit.errors import RemoteFailed, TooLarge
from framekiln.kit.guarded_transport import (
    FetchRefused,
    FetchRules,
    GuardedTransport,
    Resolve,
    checked_addresses,
    host_of,
    resolve_by_system,
)

Sink = Callable[[bytes], None]

_CONNECT_WITHIN_S: Final = 10.0
_STALL_S: Final = 60.0
"""How long the server of a download may be silent."""
_CHUNK_BYTES: Final = 256 * 1024
OWN_HEADERS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
"""Headers that frame or route a message; a caller that sets them could smuggle another request."""
_WORTH_RETRYING: Final = frozenset({408, 425, 429})
_NO_SUCH_PART: Final = 416


class FetchFailed(RemoteFailed):
    """The server could not be reached, was too slow, or returned an error."""

    code = "fetch_failed"


class FetchFailedPermanently(FetchFailed):
    """The server returned an error that a retry would not change."""

    retryable = False


class FetchTooLarge(TooLarge):
    """The response is larger than the stated limit."""

    code = "fetch_too_large"


@dataclass(frozen=True)
class Fetched:
    """A finished download; `url` is the URL after redirects."""

    url: str
    content_type: str | None
    size_bytes: int
    status: int


@dataclass(frozen=True)
class FetchedPart:
    """A part of the content at a URL, and its version."""

    content: bytes
    version: ContentVersion
    content_type: str | None


@dataclass(frozen=True)
class FetchedResponse:
    """The response to a single request, with any status; header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class UploadLimits:
    """How long an upload may take, and how much of the response is kept."""

    within_s: float
    stall_s: float
    """A server that takes and sends nothing for this long is given up."""
    keep_bytes: int


class GuardedFetcher:
    """Makes outbound requests under the rules above. Holds no connections between calls.

    `allow` has entries `host` (any port) or `host:port`, lower-case, IPv6 in brackets. `ca_file` is
    trusted in addition to the usual authorities.
    """

    def __init__(
        self,
        allow: frozenset[str] = frozenset(),
        *,
        ca_file: Path | None = None,
        resolve: Resolve = resolve_by_system,
    ) -> None:
        self._rules = FetchRules(allow)
        self._resolve = resolve
        # Loading all authorities is slow, and many processes never send a request. An operator's
        # file is read at once, so that a wrong one is reported at startup.
        self._ssl = None if ca_file is None else _ssl_context(ca_file)

    async def download(
        self,
        url: str,
        sink: Sink | Path,
        *,
        max_bytes: int,
        within_s: float,
        max_redirects: int = 3,
    ) -> Fetched:
        """Pass the content at `url` to `sink`; a file appears whole or not at all."""
        async with (
            _limits_and_errors(url, within_s),
            self._client(min(within_s, _STALL_S)) as client,
            _opened(sink) as write,
            _follow_redirects(client, url, max_redirects) as response,
        ):
            return Fetched(
                url=str(response.url),
                content_type=response.headers.get("content-type"),
                size_bytes=await _deliver(response, write, max_bytes),
                status=response.status_code,
            )

    async def download_part(
        self,
        url: str,
        start: int,
        end: int,
        *,
        version: ContentVersion | None = None,
        within_s: float,
        max_redirects: int = 3,
    ) -> FetchedPart | None:
        """Return the bytes from `start` up to, not including, `end`, or to the end of the content.

        None if the server does not support ranges. With `version`, raises `SourceChanged` if the
        content has changed since.
        """
        headers = {"range": f"bytes={start}-{end - 1}"}
        if version is not None and version.condition:
            headers["if-range"] = version.condition
        body = bytearray()
        async with (
            _limits_and_errors(url, within_s),
            self._client(min(within_s, _STALL_S)) as client,
            _follow_redirects(client, url, max_redirects, headers) as response,
        ):
            part = version_of_part(response.status_code, response.headers, start)
            if version is not None:
                version.check(part, host_of(response.url))
            if part is None:
                return None
            await _deliver(response, _in_place(body.extend), end - start)
            if len(body) != min(end, part.size_bytes) - start:
                host = host_of(response.url)
                raise FetchFailed(f"{host}: sent {len(body)} bytes of a part.", host=host)
        return FetchedPart(bytes(body), part, response.headers.get("content-type"))

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        within_s: float,
        max_response_bytes: int,
    ) -> FetchedResponse:
        """Send one request and return the response; redirects are returned, not followed."""
        _check_headers(headers, url)
        body = bytearray()
        async with (
            _limits_and_errors(url, within_s),
            self._client(within_s) as client,
            client.stream(method, url, headers=headers, content=content) as response,
        ):
            await _deliver(response, _in_place(body.extend), max_response_bytes)
        return FetchedResponse(response.status_code, dict(response.headers), bytes(body))

    async def post(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        content: bytes,
        within_s: float,
        keep_bytes: int,
    ) -> FetchedResponse:
        """Send a POST request and return the response with at most `keep_bytes` of its body.

        For callers that need only the status: the rest is not read, and neither its size nor its
        encoding is an error. Redirects are returned, not followed.
        """
        _check_headers(headers, url)
        async with (
            _limits_and_errors(url, within_s),
            self._client(within_s) as client,
            client.stream("POST", url, headers=headers, content=content) as response,
        ):
            return await _read_first(response, keep_bytes)

    async def upload(
        self,
        url: str,
        chunks: AsyncIterator[bytes],
        *,
        size_bytes: int,
        headers: Mapping[str, str],
        limits: UploadLimits,
    ) -> FetchedResponse:
        """Send a PUT request of `size_bytes` and return the response, as `post` does."""
        _check_headers(headers, url)
        async with (
            _limits_and_errors(url, limits.within_s),
            self._client(limits.stall_s) as client,
            client.stream(
                "PUT",
                url,
                # Buckets refuse requests whose size is not known at their beginning.
                headers={**headers, "content-length": str(size_bytes)},
                content=chunks,
            ) as response,
        ):
            return await _read_first(response, limits.keep_bytes)

    async def check(self, url: str, *, within_s: float = _CONNECT_WITHIN_S) -> None:
        """Raise `FetchRefused` if a request to `url` is currently forbidden; send nothing.

        A name without an address passes: it may have one by the time it is needed.
        """
        try:
            async with _limits_and_errors(url, within_s):
                target = httpx.URL(url)
                self._rules.check(target)
                await checked_addresses(self._rules, self._resolve, target)
        except FetchFailed:
            return

    def _client(self, stall_s: float) -> httpx.AsyncClient:
        """Return a client that gives up a server which takes and sends nothing for `stall_s`."""
        if self._ssl is None:
            self._ssl = _ssl_context(None)
        return httpx.AsyncClient(
            transport=GuardedTransport(self._rules, self._resolve, self._ssl),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(stall_s, connect=min(stall_s, _CONNECT_WITHIN_S)),
            # Compressed responses would make the size limit meaningless.
            headers={"accept-encoding": "identity", "user-agent": "framekiln"},
        )


def _ssl_context(ca_file: Path | None) -> ssl.SSLContext:
    """Return a context that trusts the usual authorities, and those in a file."""
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context


@asynccontextmanager
async def _limits_and_errors(url: str, within_s: float) -> AsyncIterator[None]:
    """Limit the total time, and translate errors."""
    host = _host_in(url)
    try:
        async with asyncio.timeout(within_s):
            yield
    except TimeoutError as error:
        message = f"{host}: did not finish within {within_s:g} s."
        raise FetchFailed(message, host=host) from error
    except (httpcore.LocalProtocolError, httpcore.UnsupportedProtocol, httpx.InvalidURL) as error:
        message = f"{host or 'The address'}: no valid request can be made of it: {error}"
        raise FetchRefused(message, rule="request", host=host) from error
    except (httpcore.ReadTimeout, httpcore.WriteTimeout) as error:
        message = f"{host}: stopped responding in the middle of a request."
        raise FetchFailed(message, host=host) from error
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
        message = f"{host}: the connection failed: {str(error) or type(error).__name__}"
        raise FetchFailed(message, host=host) from error


@asynccontextmanager
async def _follow_redirects(
    client: httpx.AsyncClient,
    url: str,
    max_redirects: int,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[httpx.Response]:
    """Send the request and follow redirects until there is content or an error."""
    target = httpx.URL(url)
    for _ in range(max_redirects + 1):
        async with client.stream("GET", target, headers=headers) as response:
            if not response.has_redirect_location:
                # For example a part of an empty file: a request for the whole file reports what is
                # wrong.
                if headers is None or response.status_code != _NO_SUCH_PART:
                    _check_status(response)
                yield response
                return
            target = response.url.join(response.headers["location"])
    host = host_of(target)
    raise FetchRefused(f"{host}: more than {max_redirects} redirects.", rule="redirects", host=host)


@asynccontextmanager
async def _opened(sink: Sink | Path) -> AsyncIterator[Write]:
    if isinstance(sink, Path):
        async with atomic_file(sink) as write:
            yield write
    else:
        yield _in_place(sink)


def _in_place(sink: Sink) -> Write:
    async def write(chunk: bytes) -> None:
        sink(chunk)

    return write


async def _deliver(response: httpx.Response, write: Write, max_bytes: int) -> int:
    """Write the body as sent, at most `max_bytes` of it; return its size."""
    host = host_of(response.url)
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise FetchFailedPermanently(
            f"{host}: sent {encoding}, but plain bytes were requested.",
            host=host,
            status=response.status_code,
        )
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large(host, max_bytes)
    size_bytes = 0
    async for chunk in response.aiter_raw(_CHUNK_BYTES):
        size_bytes += len(chunk)
        if size_bytes > max_bytes:
            raise _too_large(host, max_bytes)
        await write(chunk)
    return size_bytes


async def _read_first(response: httpx.Response, count: int) -> FetchedResponse:
    """Return the response with at most `count` bytes of its body; the rest is not read."""
    kept = bytearray()
    async for chunk in response.aiter_raw():
        kept += chunk[: count - len(kept)]
        if len(kept) >= count:
            break
    return FetchedResponse(response.status_code, dict(response.headers), bytes(kept))


def _too_large(host: str, max_bytes: int) -> FetchTooLarge:
    return FetchTooLarge(
        f"{host}: the content is larger than {max_bytes} bytes.", host=host, max_bytes=max_bytes
    )


def _check_status(response: httpx.Response) -> None:
    if response.is_success:
        return
    status = response.status_code
    again = status >= 500 or status in _WORTH_RETRYING
    host = host_of(response.url)
    kind = FetchFailed if again else FetchFailedPermanently
    raise kind(f"{host}: answered with status {status}.", host=host, status=status)


def _check_headers(headers: Mapping[str, str], url: str) -> None:
    for name in headers:
        if name.lower() in OWN_HEADERS:
            host = _host_in(url)
            message = f"{host}: the header {name!r} is not for the caller to set."
            raise FetchRefused(message, rule="headers", host=host)


def _host_in(url: str) -> str:
    try:
        return host_of(httpx.URL(url))
    except httpx.InvalidURL:
        return ""
