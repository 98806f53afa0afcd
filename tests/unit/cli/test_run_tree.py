"""The tree of steps that a person watches."""

from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from framekiln.cli.run_tree import draw_run, duration_of
from framekiln.client.model import RemoteRun, RemoteStep
from tests.unit.client.scripted_service import run, step

NOW = datetime(2026, 1, 1, 12, 1, 30, tzinfo=UTC)


def at(minutes: int, seconds: str) -> str:
    return f"2026-01-01T12:0{minutes}:{seconds}+00:00"


def drawn(fields: dict[str, Any], **needs: list[str]) -> list[str]:
    written = StringIO()
    Console(width=100, file=written).print(draw_run(RemoteRun.of(fields), needs, NOW))
    return [line.rstrip() for line in written.getvalue().splitlines()]


def test_each_step_is_below_the_last_step_it_needs() -> None:
    pending_run = run("running", *(step(key, "pending", type="t") for key in "abcd"))
    assert drawn(pending_run, a=[], b=["a"], c=["a"], d=["c", "b"]) == [
        "run r  running",
        "└── a t  pending",
        "    ├── b t  pending",
        "    └── c t  pending",
        "        └── d t  pending  also after b",
    ]


def test_a_step_shows_its_attempts_its_duration_and_its_error() -> None:
    error = {"code": "endpoint_unavailable", "message": "status\n[bold]503"}
    steps = (
        step("a", "succeeded", started_at=at(0, "00"), completed_at=at(0, "01.25")),
        step("b", "failed", attempt=3, error=error),
        # Its first attempt had failed, which nobody needs to know any more.
        step("c", "succeeded", attempt=2, error=error),
    )
    assert drawn(run("failed", *steps)) == [
        "run r  failed",
        "├── a probe  succeeded  1.2 s",
        "├── b probe  failed  attempt 3  endpoint_unavailable: status [bold]503",
        "└── c probe  succeeded  attempt 2",
    ]


@pytest.mark.parametrize(
    ("status", "started", "completed", "expected"),
    [
        ("pending", None, None, None),
        ("running", at(0, "00"), None, "1 min 30.0 s"),
        ("running", at(2, "00"), None, "0.0 s"),
        # Between two attempts nothing is under way.
        ("ready", at(0, "00"), None, None),
        ("failed", at(0, "00"), at(1, "00"), "1 min 0.0 s"),
    ],
)
def test_durations_are_formatted(
    status: str, started: str | None, completed: str | None, expected: str | None
) -> None:
    fields = step("a", status, started_at=started, completed_at=completed)
    assert duration_of(RemoteStep.of(fields), NOW) == expected
