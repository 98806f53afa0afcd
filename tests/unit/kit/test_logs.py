"""Log lines: their form, and what must never be in them."""

import io
import json
import logging

import pytest
import structlog

from framekiln.kit.logs import HIDDEN, configure_logs, hide_secrets


def test_each_line_is_one_json_object() -> None:
    stream = io.StringIO()
    configure_logs("auto", stream=stream)
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        structlog.get_logger("ours").info("request", status=200)
        logging.getLogger("theirs").warning("hello %s", "there")
    ours, theirs = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (ours["event"], ours["status"], ours["request_id"]) == ("request", 200, "r1")
    assert (ours["logger"], ours["level"]) == ("ours", "info")
    assert (theirs["event"], theirs["logger"], theirs["request_id"]) == (
        "hello there",
        "theirs",
        "r1",
    )


def test_console_lines_are_not_json() -> None:
    stream = io.StringIO()
    configure_logs("console", stream=stream)
    structlog.get_logger("ours").info("request", status=200)
    assert "status=200" in stream.getvalue()
    assert "\x1b[" not in stream.getvalue()


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_hides_what_it_quotes(log_format: str) -> None:
    stream = io.StringIO()
    configure_logs(log_format, stream=stream)
    try:
        raise ValueError("refused Bearer ef_verysecret_abc and postgresql://me:hunter2@db/x")
    except ValueError:
        structlog.get_logger("ours").exception("it broke")
    assert "Traceback" in stream.getvalue()
    assert "verysecret" not in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
    assert f"ef_{HIDDEN}_abc" in stream.getvalue()


@pytest.mark.parametrize(
    "field",
    [
        {"Authorization": "Basic abc"},
        {"headers": {"authorization": "x", "Cookie": "y"}},
        {"headers": [{"password": "x"}]},
    ],
)
def test_secret_fields_are_hidden_at_any_depth(field: dict[str, object]) -> None:
    hidden = json.dumps(hide_secrets(None, "info", {"event": "e", **field}))
    assert HIDDEN in hidden
    assert "abc" not in hidden
    assert '"x"' not in hidden


@pytest.mark.parametrize(
    "text",
    [
        "Bearer eyJhbGciOi.secret.sig",
        "https://host/a?media_token=secret&b=1",
        "https://host/a?token=secret",
        "ef_secret_abc",
        "postgresql://me:secret@db/x",
    ],
)
def test_secrets_inside_text_are_hidden(text: str) -> None:
    assert "secret" not in str(hide_secrets(None, "info", {"event": text})["event"])


def test_plain_text_is_left_alone() -> None:
    event = {"event": "rendered http://host:8080/a@b in 3 s", "path": "/api/v1/renders", "n": 3}
    assert hide_secrets(None, "info", dict(event)) == event


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_value_cannot_forge_a_line_or_steer_the_terminal(log_format: str) -> None:
    stream = io.StringIO()
    configure_logs(log_format, stream=stream)
    path = "/a\n2030-01-01 [info] forged\r\x1b[31m\x9b31m"
    structlog.get_logger("ours").info("request", path=path)
    assert stream.getvalue().count("\n") == 1
    assert not {"\r", "\x1b", "\x9b"} & set(stream.getvalue())


def test_a_failing_log_stream_raises_nothing() -> None:
    stream = io.StringIO()
    configure_logs("json", stream=stream)
    log = structlog.get_logger("kiln")
    log.debug("kiln.noise")
    log.info("kiln.lit")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["kiln.lit"]
    stream.close()
    log.info("kiln.lit")
