"""Results of endpoint attempts, from a response, a callback or a timeout. Pure.

A verdict that comes before its time is kept as JSON until the request has ended.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from framekiln.jobs.failures import Failure
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.errors import InvalidOutput
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.outputs.validation import check_output
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue

MAX_RESPONSE_BYTES: Final = 4 << 20
"""Of an output as it is sent, spaces and all; what is kept has a limit of its own."""
_SHOWN_ISSUES: Final = 5


@dataclass(frozen=True)
class AttemptAccepted:
    """The endpoint will call back."""


@dataclass(frozen=True)
class AttemptSucceeded:
    """The endpoint has done it."""

    output: StepOutput


@dataclass(frozen=True)
class AttemptFailed:
    """The endpoint has not done it."""

    failure: Failure
    is_retryable: bool = False
    retry_after_s: int = 0
    issues: tuple[ValidationIssue, ...] = ()
    """What is wrong with an output, for who sent it."""


FinalResult = AttemptSucceeded | AttemptFailed
AttemptResult = AttemptAccepted | FinalResult


@dataclass(frozen=True)
class OutputRules:
    """What outputs of one attempt must keep to, beyond what all must."""

    window: Window | None
    track_ids: Collection[int] | None


def result_of_output(value: Any, rules: OutputRules) -> FinalResult:
    """Return an output that is right, or the failure that it is not."""
    checked = check_output(value, window=rules.window, track_ids=rules.track_ids)
    return AttemptSucceeded(checked) if isinstance(checked, StepOutput) else invalid_output(checked)


def result_of_body(content: bytes, rules: OutputRules) -> FinalResult:
    """Do the same for an output as it was sent; nothing at all is an empty output."""
    if len(content) > MAX_RESPONSE_BYTES:
        return invalid_output([ValidationIssue("", IssueCode.TOO_LARGE)])
    if not content.strip():
        return AttemptSucceeded(StepOutput())
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        reason = "is nested too far" if isinstance(error, RecursionError) else str(error)
        return AttemptFailed(Failure(InvalidOutput.code, f"the output is not JSON: {reason}"[:500]))
    return result_of_output(value, rules)


def invalid_output(issues: list[ValidationIssue]) -> AttemptFailed:
    """Return the failure of an output with these issues. It would be the same again."""
    shown = ", ".join(f"{each.path or 'it'}: {each.code}" for each in issues[:_SHOWN_ISSUES])
    more = f" and {len(issues) - _SHOWN_ISSUES} more" if len(issues) > _SHOWN_ISSUES else ""
    reason = f"the output of the endpoint is not right: {shown}{more}"
    return AttemptFailed(Failure(InvalidOutput.code, reason), issues=tuple(issues))


def result_to_json(verdict: FinalResult) -> dict[str, Any]:
    """Return a verdict as it is kept."""
    if isinstance(verdict, AttemptSucceeded):
        return {"output": verdict.output.to_json()}
    failure = verdict.failure
    return {
        "code": failure.code,
        "message": failure.message,
        "is_retryable": verdict.is_retryable,
    }


def result_from_json(kept: dict[str, Any]) -> FinalResult:
    """Return a verdict that was kept."""
    if "output" in kept:
        return AttemptSucceeded(StepOutput.from_json(kept["output"]))
    return AttemptFailed(Failure(kept["code"], kept["message"]), kept["is_retryable"])
