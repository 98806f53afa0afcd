"""Which pages may use a session: only those of allowed origins.

A browser sends the session cookie from any page. So a change is refused unless the browser says
that the page has an allowed origin (CSRF), and other pages may not read responses to requests
with the cookie (CORS).
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers

from framekiln.kit.errors import Forbidden
from framekiln.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD"})


class CrossOrigin(Forbidden):
    """A request with a cookie that may come from a page of another origin."""

    code = "cross_origin"


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
    """Return whether an origin is allowed: the public one, that of `Host`, or a configured one."""
    public = _origin_of(settings.public_url)
    if origin == public or origin in settings.allowed_origins:
        return True
    scheme, _, place = origin.partition("://")
    # Plain HTTP can be changed on the way.
    if public is not None and public.startswith("https://") and scheme != "https":
        return False
    return scheme in ("http", "https") and place == headers.get("host", "").lower() != ""


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
