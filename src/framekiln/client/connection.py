"""HTTP requests to the service: authentication, errors, retries, pages and progress streams."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx

from framekiln.client.errors import EndedBadly, ServiceRefused, ServiceUnreachable

RETRY_WITHIN_S: Final = 120.0
"""How long a request is retried."""
_FIRST_PAUSE_S: Final = 0.2
_MAX_PAUSE_S: Final = 5.0
_TIMEOUT: Final = httpx.Timeout(60.0, connect=10.0)
_TOO_MANY_REQUESTS: Final = 429
_MAX_MESSAGE_CHARS: Final = 500

Json = dict[str, Any]


class ServiceConnection:
    """A connection to one service with one key. `sleep` and `transport` are for tests."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        retry_within_s: float = RETRY_WITHIN_S,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._retry_within_s = retry_within_s
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=_TIMEOUT,
            transport=transport,
        )

    def close(self) -> None:
        """Close open connections."""
        self._http.close()

    def request(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request and retry until there is a response: only for idempotent requests."""
        for attempt in self.retries():
            with attempt:
                return self.request_once(method, path, **request)
        raise AssertionError("the last retry raises")

    def request_json(self, method: str, path: str, **request: Any) -> Json:
        """Send a request with retries and return the JSON of the response."""
        return json_object(self.request(method, path, **request))

    def request_once(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request; raises `ServiceUnreachable` if a retry may help."""
        with _translate_transport_errors(self._http.base_url):
            answer = self._http.request(method, path, **request)
        raise_for_error(answer)
        return answer

    @contextmanager
    def stream(self, path: str) -> Iterator[httpx.Response]:
        """GET a path and yield the response before its body is read."""
        with (
            _translate_transport_errors(self._http.base_url),
            self._http.stream("GET", path) as answer,
        ):
            if not answer.is_success:
                answer.read()
            raise_for_error(answer)
            yield answer

    def sleep(self, seconds: float) -> None:
        """Wait before the next request."""
        self._sleep(seconds)

    def retries(self) -> Iterator["Retry"]:
        """Yield until something works, with increasing pauses, or the time limit is reached.

        Use each one as a block: it suppresses `ServiceUnreachable`. `worked` restarts the time
        limit.
        """
        attempt = Retry(self._retry_within_s, self._sleep)
        while True:
            yield attempt


class Retry:
    """How long to retry when the service does not respond."""

    def __init__(self, retry_within_s: float, sleep: Callable[[float], None]) -> None:
        self._retry_within_s, self._sleep = retry_within_s, sleep
        self.record_progress()

    def record_progress(self) -> None:
        """Restart the time limit: there was progress."""
        self._deadline = time.monotonic() + self._retry_within_s
        self._pause_s = _FIRST_PAUSE_S

    def __enter__(self) -> "Retry":
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        if not isinstance(error, ServiceUnreachable):
            return False
        pause_s = max(self._pause_s, error.retry_after_s or 0)
        if time.monotonic() + pause_s > self._deadline:
            return False
        self._sleep(pause_s)
        self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_S)
        return True


def require_running(base_url: str) -> None:
    """Raise `ServiceUnreachable` immediately if the service does not respond."""
    connection = ServiceConnection(base_url, None)
    try:
        connection.request_once("GET", "/healthz")
    finally:
        connection.close()


def json_object(answer: httpx.Response) -> Json:
    """Return the object in a response; anything else is not from our service."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ServiceRefused(
            f"{answer.url} did not answer with JSON: is the address right?",
            status=answer.status_code,
            error=None,
        )
    return found


def raise_for_error(answer: httpx.Response) -> None:
    """Raise the error in a response."""
    if answer.is_success:
        return
    raw = _error_body(answer)
    message = _issues(raw) or str(raw.get("message") or raw.get("error") or answer.reason_phrase)
    text = f"{message[:_MAX_MESSAGE_CHARS]} ({answer.status_code})"
    if answer.is_server_error or answer.status_code == _TOO_MANY_REQUESTS:
        raise ServiceUnreachable(
            f"the service cannot do this now: {text}",
            error=raw.get("error"),
            raw=raw,
            retry_after_s=_retry_after_s(answer),
        )
    raise ServiceRefused(text, status=answer.status_code, error=raw.get("error"), raw=raw)


def _retry_after_s(answer: httpx.Response) -> int | None:
    text = answer.headers.get("Retry-After", "")
    return int(text) if text.isascii() and text.isdigit() else None


def _error_body(answer: httpx.Response) -> Json:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _issues(raw: Json) -> str:
    """Return all issues of a request, if the service lists them."""
    found = raw.get("issues")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        return ""
    return "; ".join(f"{each.get('path') or 'body'}: {each.get('code')}" for each in found)


@contextmanager
def _translate_transport_errors(base_url: httpx.URL) -> Iterator[None]:
    try:
        yield
    except httpx.TransportError as error:
        reason = str(error) or type(error).__name__
        raise ServiceUnreachable(f"{base_url} does not answer: {reason}") from error
    except httpx.InvalidURL as error:
        raise ServiceRefused(f"{base_url} is not a valid URL: {error}", status=None) from error


def iter_items(connection: ServiceConnection, path: str, name: str, **query: Any) -> Iterator[Json]:
    """Yield the items listed under `name` on all pages; queries that are None are left out."""
    asked = {key: value for key, value in query.items() if value is not None}
    while True:
        page = connection.request_json("GET", path, params=asked)
        yield from page[name]
        if page["next_cursor"] is None:
            return
        asked["cursor"] = page["next_cursor"]


OnFraction = Callable[[float], None]


def follow_progress(connection: ServiceConnection, path: str, on_fraction: OnFraction) -> None:
    """Return when the stream reports `complete`; raises `EndedBadly` with the reason on `error`."""
    for attempt in connection.retries():
        with attempt, connection.stream(path) as answer:
            for name, data in _events(answer):
                attempt.record_progress()
                if name == "error":
                    raise EndedBadly(data, error=data.partition(":")[0])
                if name == "complete":
                    return
                if name == "progress":
                    on_fraction(float(json.loads(data).get("progress", 0)))


def _events(answer: httpx.Response) -> Iterator[tuple[str, str]]:
    name, data = "", ""
    for line in answer.iter_lines():
        field, _, value = line.partition(":")
        if not line:
            yield name, data
            name, data = "", ""
        elif field == "event":
            name = value.strip()
        elif field == "data":
            data += value.strip()
