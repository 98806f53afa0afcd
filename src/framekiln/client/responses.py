"""Responses of the service: their JSON, their errors and their events."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any, Final

import httpx

from framekiln.client.errors import EndedBadly, ServiceRefused, ServiceUnreachable

_TOO_MANY_REQUESTS: Final = 429
_MAX_MESSAGE_CHARS: Final = 500

Json = dict[str, Any]
OnFraction = Callable[[float], None]


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
    if raw.get("remedy"):
        text += f". {raw['remedy']}"
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
    if answer.headers.get("Content-Type", "").startswith("text/event-stream"):
        # Refused streams have the message as their only event.
        reader = EventReader()
        events = dict(filter(None, map(reader.read, answer.text.splitlines())))
        return {"message": events.get("error", "")}
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _issues(raw: Json) -> str:
    """Return all issues of a request, if the service lists them.

    Those of pipelines have only codes; the message of the response is about the first.
    """
    found = raw.get("issues")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        return ""
    words = [each.get("hint") or each.get("message") for each in found]
    if words == [None]:
        return ""
    return "; ".join(
        f"{each.get('path') or 'body'}: {said or each.get('code')}"
        for each, said in zip(found, words, strict=True)
    )


@contextmanager
def translate_transport_errors(base_url: httpx.URL, *, remedy: str = "") -> Iterator[None]:
    """Turn errors of the connection into errors of the client."""
    try:
        yield
    except httpx.TransportError as error:
        reason = str(error) or type(error).__name__
        raise ServiceUnreachable(f"{base_url} does not answer: {reason}{remedy}") from error
    except httpx.InvalidURL as error:
        raise ServiceRefused(f"{base_url} is not a valid URL: {error}", status=None) from error


class EventReader:
    """Puts the lines of an event stream together."""

    def __init__(self) -> None:
        self._name, self._data = "", ""

    def read(self, line: str) -> tuple[str, str] | None:
        """Return the name and the data of an event at its end."""
        field, _, value = line.partition(":")
        if not line:
            found = self._name, self._data
            self._name, self._data = "", ""
            return found
        if field == "event":
            self._name = value.strip()
        elif field == "data":
            self._data += value.strip()
        return None


def is_last_event(name: str, data: str, on_fraction: OnFraction) -> bool:
    """Report an event of a progress stream; raises `EndedBadly` with the reason on `error`."""
    if name == "error":
        raise EndedBadly(data, error=data.partition(":")[0])
    if name == "progress":
        on_fraction(float(json.loads(data).get("progress", 0)))
    return name == "complete"


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to; it appears at `path` when the block ends without an error."""
    folder = path.absolute().parent
    with NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", delete=False) as beside:
        whole = Path(beside.name)
        try:
            yield beside
            beside.flush()
            # File systems without permissions refuse it.
            with suppress(PermissionError):
                whole.chmod(0o644)
            whole.replace(path)
        except BaseException:
            whole.unlink(missing_ok=True)
            raise
