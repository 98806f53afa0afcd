"""Connections that go only where the rules allow: the lower half of the guarded fetcher.

A name is resolved once, and the connection goes to exactly the address that was checked, so a DNS
response that changes between check and use has no effect. Built on the extension points of httpx (a
transport) and httpcore (a network backend); it follows no redirect and reads no environment.

Only public addresses are allowed. The check does not use the standard library, whose `is_global` is
true for routes into private networks such as NAT64, 6to4 and multicast.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Final

import httpcore
import httpx

from framekiln.kit.errors import InvalidInput
from framekiln.kit.lazy_log import LazyLogger

_PRIVATE_4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; some clouds keep their metadata here
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # looks public, but is the host of every Azure machine
        "169.254.0.0/16",  # link-local; most clouds keep their metadata here
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

# Everything outside this range is refused: loopback, private, link-local, multicast, and the forms
# that contain an IPv4 address (mapped, compatible, NAT64).
_GLOBAL_6: Final = IPv6Network("2000::/3")
_PRIVATE_6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments; Teredo carries an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries an IPv4 address
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Return whether `address` is public; anything other than a plain address is not."""
    try:
        if ":" in address:
            return _is_public_6(IPv6Address(address))
        return not _is_in(IPv4Address(address), _PRIVATE_4)
    except AddressValueError:
        return False


def _is_public_6(address: IPv6Address) -> bool:
    # A scope names one of our own network interfaces, so such an address is local.
    if address.scope_id is not None or address not in _GLOBAL_6:
        return False
    return not any(address in network for network in _PRIVATE_6)


def _is_in(address: IPv4Address, networks: tuple[IPv4Network, ...]) -> bool:
    return any(address in network for network in networks)


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_PORTS: Final = frozenset({80, 443})
_RESOLVER_THREADS: Final = 32
# Resolver errors for a name that does not exist; all other errors may be temporary.
_NO_SUCH_HOST: Final = {socket.EAI_NONAME, socket.EAI_NODATA}

log = LazyLogger(__name__)


class FetchRefused(InvalidInput):
    """A rule forbids the request; `rule` and `host` name the rule and the host."""

    code = "fetch_refused"

    def __init__(self, message: str, *, rule: str, host: str) -> None:
        super().__init__(message, rule=rule, host=host)


@cache
def _resolver_threads() -> ThreadPoolExecutor:
    """Return threads for names only.

    A slow DNS server, which anybody may have, keeps a thread for half a minute, also after the
    request was given up. The default threads are few, and all requests need them.
    """
    return ThreadPoolExecutor(_RESOLVER_THREADS, thread_name_prefix="resolver")


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """Return the addresses of `host` from the machine's resolver."""
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    answers = await asyncio.get_running_loop().run_in_executor(_resolver_threads(), look_up)
    return tuple(dict.fromkeys(str(answer[4][0]) for answer in answers))


def is_no_such_host(error: OSError) -> bool:
    """Return whether a `Resolve` raised this because the host does not exist."""
    return isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_HOST


def host_of(url: httpx.URL) -> str:
    """Return the host as sent over the wire: lower-case, ASCII, no brackets."""
    return url.raw_host.decode("ascii")


def _unusable(url: httpx.URL) -> str:
    if url.scheme and url.scheme not in {"http", "https"}:
        return f"{url.scheme} is not supported"
    return "no host"


def _port_of(url: httpx.URL) -> int:
    return url.port or (80 if url.scheme == "http" else 443)


class FetchRules:
    """The rules that depend on the URL alone."""

    def __init__(self, allow: frozenset[str]) -> None:
        self._allow = allow

    def allows(self, host: str, port: int) -> bool:
        """Return whether the operator allowed this host."""
        shown = f"[{host}]" if ":" in host else host
        return not self._allow.isdisjoint({host, shown, f"{shown}:{port}"})

    def check(self, url: httpx.URL) -> None:
        """Refuse forbidden URLs before anything is sent."""
        host = host_of(url)
        port = _port_of(url)
        if url.scheme not in {"http", "https"} or not host:
            raise FetchRefused(
                f"{_unusable(url)}: give a full address that starts with https://.",
                rule="scheme",
                host=host,
            )
        if url.userinfo:
            raise FetchRefused(
                f"{host}: leave user name and password out of the address.",
                rule="credentials",
                host=host,
            )
        if self.allows(host, port):
            return
        if url.scheme == "http":
            raise FetchRefused(_no_http(host, port), rule="scheme", host=host)
        if port not in _PORTS:
            raise FetchRefused(
                f"{host}: port {port} is not allowed, only 443 and 80. {_to_allow(host, port)}",
                rule="port",
                host=host,
            )


def _no_http(host: str, port: int) -> str:
    # Names without a dot exist only in private networks.
    is_private = not is_public(host) if _is_address(host) else "." not in host
    if is_private:
        return f"{host} is not a public host. {_to_allow(host, port)}"
    return f"{host}: use https instead of http. {_to_allow(host, port)}"


def _to_allow(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return (
        f"To fetch from it all the same, the operator adds {shown}:{port} to FRAMEKILN_FETCH_ALLOW."
    )


def _is_address(host: str) -> bool:
    return ":" in host or re.fullmatch(r"[0-9.]+", host) is not None


class _CheckedConnections(httpcore.AsyncNetworkBackend):
    """Resolves, checks, and connects to the checked address. TLS uses the host's name."""

    def __init__(self, rules: FetchRules, resolve: Resolve) -> None:
        self._rules = rules
        self._resolve = resolve
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, *args: Any, **options: Any
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that responds, if all are permitted."""
        failure: Exception = httpcore.ConnectError("the name has no address")
        for address in await _addresses(self._rules, self._resolve, host=host, port=port):
            try:
                return await self._network.connect_tcp(address, port, *args, **options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


async def checked_addresses(rules: FetchRules, resolve: Resolve, url: httpx.URL) -> Sequence[str]:
    """Return the permitted addresses for a connection to `url`, or refuse it."""
    return await _addresses(rules, resolve, host=host_of(url), port=_port_of(url))


async def _addresses(rules: FetchRules, resolve: Resolve, *, host: str, port: int) -> Sequence[str]:
    try:
        addresses = await resolve(host, port)
    except UnicodeError as error:
        raise FetchRefused(f"{host!r} is not a host name.", rule="host", host=host) from error
    except OSError as error:
        reason = error.strerror or error
        raise httpcore.ConnectError(f"the name does not resolve: {reason}") from error
    if rules.allows(host, port):
        return addresses
    # One private address among public ones is refused too: the next response might list it first.
    private = [address for address in addresses if not is_public(address)]
    if private:
        # The caller must not learn what private names mean; the operator may.
        log.warning("fetch.private_address_refused", host=host, address=private[0])
        raise FetchRefused(
            f"{host} is not a public host. {_to_allow(host, port)}", rule="address", host=host
        )
    return addresses


class GuardedTransport(httpx.AsyncBaseTransport):
    """httpx on top of checked connections; the rules apply to every request and redirect."""

    def __init__(self, rules: FetchRules, resolve: Resolve, context: ssl.SSLContext) -> None:
        self._rules = rules
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context, network_backend=_CheckedConnections(rules, resolve)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Check and send the request; return the response with its body unread."""
        self._rules.check(request.url)
        assert isinstance(request.stream, httpx.AsyncByteStream)
        answer = await self._pool.handle_async_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of a response, read from the connection on demand."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_stream():
            yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()
