"""Loggers that cost nothing until they write."""

import io
import json

import pytest
from structlog.testing import capture_logs

from framekiln.kit.lazy_log import LazyLogger
from framekiln.kit.logs import configure_logs


def test_logs_are_configured_once_with_the_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, configured = io.StringIO(), []

    def configure() -> None:
        configured.append(True)
        configure_logs("json", stream=stream)

    monkeypatch.setattr(LazyLogger, "configure", configure)
    first, second = LazyLogger("one"), LazyLogger("two")
    assert not configured
    first.warning("begun", at=1)
    second.info("ended")
    assert configured == [True]
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["logger"], line["level"]) for line in lines] == [
        ("begun", "one", "warning"),
        ("ended", "two", "info"),
    ]


def test_lines_are_written_as_logs_are_configured_now() -> None:
    log = LazyLogger("one")
    with capture_logs() as lines:
        log.error("failed", why="test")
    assert lines == [{"event": "failed", "why": "test", "log_level": "error"}]
