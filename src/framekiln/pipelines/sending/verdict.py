"""What comes of an attempt at an endpoint, whoever says so: an answer, a callback, the clock. Pure.

A verdict that comes before its time is kept as JSON until the request has ended.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from framekiln.jobs.ending import Failure
from framekiln.pipelines.definitions.windows import Window
from framekiln.pipelines.errors import InvalidOutput
from framekiln.pipelines.forms.issues import Code, Issue
from framekiln.pipelines.outputs.output import Output
from framekiln.pipelines.outputs.output_check import check_output

MAX_ANSWER_BYTES: Final = 4 << 20
"""Of an output as it is sent, spaces and all; what is kept has a limit of its own."""
_SHOWN_ISSUES: Final = 5


@dataclass(frozen=True)
class Accepted:
    """The endpoint will call back."""


@dataclass(frozen=True)
class Succeeded:
    """The endpoint has done it."""

    output: Output


@dataclass(frozen=True)
class Failed:
    """The endpoint has not done it."""

    failure: Failure
    is_retryable: bool = False
    retry_after_s: int = 0
    issues: tuple[Issue, ...] = ()
    """What is wrong with an output, for who sent it."""


Ended = Succeeded | Failed
Verdict = Accepted | Ended


@dataclass(frozen=True)
class OutputRules:
    """What outputs of one attempt must keep to, beyond what all must."""

    window: Window | None
    track_ids: Collection[int] | None


def judge_output(value: Any, rules: OutputRules) -> Ended:
    """Return an output that is right, or the failure that it is not."""
    checked = check_output(value, window=rules.window, track_ids=rules.track_ids)
    return Succeeded(checked) if isinstance(checked, Output) else bad_output(checked)


def judge_text(content: bytes, rules: OutputRules) -> Ended:
    """Do the same for an output as it was sent; nothing at all is an empty output."""
    if len(content) > MAX_ANSWER_BYTES:
        return bad_output([Issue("", Code.TOO_LARGE)])
    if not content.strip():
        return Succeeded(Output())
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        reason = "is nested too far" if isinstance(error, RecursionError) else str(error)
        return Failed(Failure(InvalidOutput.code, f"the output is not JSON: {reason}"[:500]))
    return judge_output(value, rules)


def bad_output(issues: list[Issue]) -> Failed:
    """Return the failure of an output with these issues. It would be the same again."""
    shown = ", ".join(f"{each.path or 'it'}: {each.code}" for each in issues[:_SHOWN_ISSUES])
    more = f" and {len(issues) - _SHOWN_ISSUES} more" if len(issues) > _SHOWN_ISSUES else ""
    reason = f"the output of the endpoint is not right: {shown}{more}"
    return Failed(Failure(InvalidOutput.code, reason), issues=tuple(issues))


def to_json(verdict: Ended) -> dict[str, Any]:
    """Return a verdict as it is kept."""
    if isinstance(verdict, Succeeded):
        return {"output": verdict.output.to_json()}
    failure = verdict.failure
    return {
        "code": failure.code,
        "message": failure.message,
        "is_retryable": verdict.is_retryable,
    }


def from_json(kept: dict[str, Any]) -> Ended:
    """Return a verdict that was kept."""
    if "output" in kept:
        return Succeeded(Output.from_json(kept["output"]))
    return Failed(Failure(kept["code"], kept["message"]), kept["is_retryable"])
