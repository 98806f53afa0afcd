"""Bodies of callbacks."""

from dataclasses import replace
from typing import Any

import pytest

from framekiln.kit.errors import InvalidInput
from framekiln.pipelines.endpoints.callbacks import (
    CallbackError,
    FailedBody,
    HeartbeatBody,
    SucceededBody,
    read_callback,
)

pytestmark = pytest.mark.spec("4.7", "8")


SUCCEEDED = SucceededBody(status="succeeded")
FAILED = FailedBody(status="failed", error=CallbackError(message="m"))


def failed(**error: Any) -> dict[str, Any]:
    return {"status": "failed", "error": error}


@pytest.mark.parametrize(
    ("body", "callback"),
    [
        ({"status": "heartbeat"}, HeartbeatBody(status="heartbeat")),
        ({"status": "succeeded"}, SUCCEEDED),
        ({"status": "succeeded", "output": None}, SUCCEEDED),
        ({"status": "succeeded", "output": [1]}, replace(SUCCEEDED, output=[1])),
        (failed(message="m"), FAILED),
        (failed(message="m", code=None, retryable=None), FAILED),
        (
            failed(message="x" * 1000, code="a" + "_9" * 31 + "z", retryable=True),
            FailedBody(
                status="failed",
                error=CallbackError(message="x" * 1000, code="a" + "_9" * 31 + "z", retryable=True),
            ),
        ),
    ],
)
def test_callback_bodies_are_read(body: Any, callback: Any) -> None:
    assert read_callback(body) == callback


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ([], "", "type"),
        ({}, "status", "required"),
        ({"status": "done"}, "status", "unknown_value"),
        ({"status": ["failed"]}, "status", "unknown_value"),
        ({"status": "heartbeat", "output": {}}, "output", "unknown_field"),
        ({"status": "succeeded", "error": {}}, "error", "unknown_field"),
        ({"status": "failed"}, "error", "required"),
        ({"status": "failed", "error": "no"}, "error", "type"),
        (failed(), "error.message", "required"),
        (failed(message=""), "error.message", "empty"),
        (failed(message="x" * 1001), "error.message", "too_long"),
        (failed(message="m", code="A"), "error.code", "pattern"),
        (failed(message="m", code="9a"), "error.code", "pattern"),
        (failed(message="m", code="a\n"), "error.code", "pattern"),
        (failed(message="m", code="a" * 65), "error.code", "too_long"),
        (failed(message="m", retryable="yes"), "error.retryable", "type"),
        (failed(message="m", why=1), "error.why", "unknown_field"),
    ],
)
def test_invalid_callback_bodies_are_refused(body: Any, path: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_callback(body)
    assert caught.value.details["issues"] == [{"path": path, "code": code}]
