"""Logs: one configuration for this service and its libraries, always to standard error.

Coloured lines for a terminal, one JSON object per line otherwise. Secrets are removed
here, as the last step, for every line.
"""

import json
import logging
import re
import sys
import threading
from contextlib import suppress
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

HIDDEN = "[hidden]"
SECRET_FIELDS = frozenset(
    {
        "api_key",
        "account_key",
        "authorization",
        "cookie",
        "key_text",
        "media_token",
        "password",
        "proxy-authorization",
        "secret",
        "secret_access_key",
        "service_account_key",
        "session_token",
        "set-cookie",
        "token",
        "webhook-signature",
        "x-webhook-signature",
    }
)
# The key id stays readable: it is public, and needed first in any investigation.
API_KEY_TEXT = re.compile(r"\bef_[^\s_]+_")
BEARER_TEXT = re.compile(r"(?i)\b(bearer\s+)(?!ef_)[^\s\"',]+")
URL_PASSWORD = re.compile(r"(?<=://)([^\s/:@]*):[^\s/@]+@")
QUERY_TOKEN = re.compile(r"(?i)([?&](?:media_)?token=)[^\s&\"']+")
LINK_TOKEN = re.compile(r"(/l/)[A-Za-z0-9_-]{40,}")
# Something of each of these, so that most texts are only read once.
POSSIBLE_SECRET = re.compile(r"(?i)ef_|earer|://|oken=|/l/")


def configure_logs(log_format: str = "auto", *, stream: TextIO | None = None) -> None:
    """Send every log line to `stream` (standard error) as `auto`, `json` or `console`."""
    stream = stream or sys.stderr
    is_console = log_format == "console" or (log_format == "auto" and stream.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Processor] = [
        structlog.processors.format_exc_info,
        hide_secrets,
        _renderer(is_console=is_console, colors=stream.isatty()),
    ]
    lock = threading.Lock()
    # Our own lines do not pass through `logging`, which would double what they cost.
    structlog.configure(
        processors=[*shared, *last],
        logger_factory=lambda *names: LineLogger(str(names[0]) if names else "", stream, lock),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _drop_color_message,
                *last,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    _quiet_libraries()


class LineLogger:
    """Writes finished lines to a stream. An error of the stream is no error of who logs."""

    def __init__(self, name: str, stream: TextIO, lock: threading.Lock) -> None:
        self.name = name
        self._stream = stream
        self._lock = lock

    def info(self, line: str) -> None:
        """Write a line."""
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    warning = error = critical = exception = info

    def debug(self, line: str) -> None:
        """Write nothing, as the libraries do."""


def hide_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace secrets: whole fields by their name, keys and tokens inside text."""
    return {name: _hidden(name, value) for name, value in event.items()}


def _drop_color_message(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    # Uvicorn adds each message a second time, with colours.
    event.pop("color_message", None)
    return event


def _hidden(name: object, value: Any) -> Any:
    if isinstance(name, str) and name.lower() in SECRET_FIELDS:
        return HIDDEN
    if isinstance(value, str):
        return _hidden_text(value)
    if isinstance(value, dict):
        return {key: _hidden(key, inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(None, inner) for inner in value]
    return value


def _hidden_text(text: str) -> str:
    if not POSSIBLE_SECRET.search(text):
        return text
    text = API_KEY_TEXT.sub(f"ef_{HIDDEN}_", text)
    text = BEARER_TEXT.sub(rf"\1{HIDDEN}", text)
    text = URL_PASSWORD.sub(rf"\1:{HIDDEN}@", text)
    text = LINK_TOKEN.sub(rf"\1{HIDDEN}", text)
    return QUERY_TOKEN.sub(rf"\1{HIDDEN}", text)


def _renderer(*, is_console: bool, colors: bool) -> Processor:
    if is_console:
        # Not the rich formatter: it prints local variables, and with them secrets.
        return structlog.dev.ConsoleRenderer(
            colors=colors, exception_formatter=structlog.dev.plain_traceback
        )
    # `json.dumps` would make an encoder for each line.
    encode = json.JSONEncoder(default=str).encode
    return structlog.processors.JSONRenderer(lambda event, **_options: encode(event))


def _quiet_libraries() -> None:
    # We write our own access log; httpx logs whole URLs, including tokens.
    logging.getLogger("uvicorn.access").disabled = True
    for name in ("httpx", "httpcore", "procrastinate", "yoyo"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # The server's own lines also go through our handler.
    for name in ("uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
