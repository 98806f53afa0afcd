"""Which pages may use a session: only those of allowed origins, at a host of ours.

A browser sends the session cookie from any page. So a change is refused unless the browser says
that the page has an allowed origin (CSRF), and other pages may not read responses to requests
with the cookie (CORS). A page of somebody else's host name that leads to our address is not ours
either (DNS rebinding).
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from framekiln.kit.errors import Forbidden
from framekiln.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD"})
MAX_SHOWN_CHARS = 100


class CrossOrigin(Forbidden):
    """A request with a cookie that may come from a page of another origin."""

    code = "cross_origin"


class UnknownHost(Forbidden):
    """A request with a cookie to a host name that is not one of ours."""

    code = "unknown_host"


def page_origin(headers: Headers) -> str | None:
    """Return the origin of the page that sent a request; None when the browser does not say."""
    origin = headers.get("origin")
    if origin is not None:
        return origin.lower()
    referer = headers.get("referer")
    if referer is None:
        return None
    return _origin_of(referer) or "null"


def is_own_origin(origin: str, headers: Headers, settings: Settings) -> bool:
    """Return whether an origin is allowed: the public one, our `Host`, or a configured one."""
    public = _origin_of(settings.public_url)
    if origin == public or origin in settings.allowed_origins:
        return True
    scheme, _, place = origin.partition("://")
    # Plain HTTP can be changed on the way.
    if public is not None and public.startswith("https://") and scheme != "https":
        return False
    host = headers.get("host", "").lower()
    return scheme in ("http", "https") and place == host and is_own_host(host, settings)


def is_own_host(host: str, settings: Settings) -> bool:
    """Return whether a `Host` is one of ours: public, configured, local, or a plain address.

    Nobody can lead a name of theirs here under a plain address, so those are all ours.
    """
    try:
        parts = urlsplit(f"//{host}")
    except ValueError:
        return False
    name = parts.hostname or ""
    # Anything but a name and a port is no `Host` that a browser sends.
    if parts.netloc != host or "@" in host:
        return False
    public = urlsplit(settings.public_url).hostname
    if name in (public, settings.host.lower()) or name in settings.allowed_hosts:
        return name != ""
    return is_local_host(name) or _address(name) is not None


def is_local_host(name: str) -> bool:
    """Return whether a host name or address is that of the machine itself."""
    address = _address(name)
    if address is not None:
        return address.is_loopback
    return name == "localhost" or name.endswith(".localhost")


def require_own_host(headers: Headers, settings: Settings) -> None:
    """Refuse a session at a host name that is not ours."""
    host = headers.get("host", "")
    if not is_own_host(host.lower(), settings):
        raise UnknownHost(
            f"sessions do not work at the host {host[:MAX_SHOWN_CHARS]!r}: use"
            f" {settings.public_url}, or let the operator add the host to FRAMEKILN_ALLOWED_HOSTS"
        )


def require_own_page(headers: Headers, settings: Settings) -> None:
    """Refuse a change by cookie unless a page of an allowed origin requests it."""
    origin = page_origin(headers)
    if origin is None or not is_own_origin(origin, headers, settings):
        raise CrossOrigin(
            "changes with a session are accepted only from pages of this service: the request"
            f" needs an Origin header such as {settings.public_url}; programs use an API key"
            " instead"
        )


def refuse_other_page(headers: Headers, settings: Settings) -> None:
    """Refuse a request from a page of another origin; programs, which have no page, may pass."""
    if page_origin(headers) is not None:
        require_own_page(headers, settings)


def is_own_url(url: str, headers: Headers, settings: Settings) -> bool:
    """Return whether an address belongs to this service: a path, or one under its origin."""
    origin = _origin_of(url)
    if origin is None:
        return url.startswith("/") and not url.startswith("//")
    return is_own_origin(origin, headers, settings)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _origin_of(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_usual = port in (None, 443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{host}" if is_usual else f"{parts.scheme}://{host}:{port}"
