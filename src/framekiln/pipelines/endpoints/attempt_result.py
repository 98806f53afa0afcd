"""Results of endpoint attempts, from a response, a callback or a timeout. Pure.

A result that is called back before the request has ended is stored as JSON until then.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from framekiln.jobs.failures import Failure
from framekiln.kit.json_scan import scan_json
from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.errors import InvalidOutput
from framekiln.pipelines.outputs.model import StepOutput
from framekiln.pipelines.outputs.validation import check_output
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue

MAX_RESPONSE_BYTES: Final = 4 << 20
"""Limit of a response body with its white space; stored outputs have a limit of their own."""
_SHOWN_ISSUES: Final = 5


@dataclass(frozen=True)
class AttemptAccepted:
    """The endpoint will call back."""


@dataclass(frozen=True)
class AttemptSucceeded:
    """The endpoint has done the work."""

    output: StepOutput


@dataclass(frozen=True)
class AttemptFailed:
    """The endpoint has not done the work."""

    failure: Failure
    is_retryable: bool = False
    retry_after_s: int = 0
    issues: tuple[ValidationIssue, ...] = ()
    """Issues of an output, for the endpoint that sent it."""


FinalResult = AttemptSucceeded | AttemptFailed
AttemptResult = AttemptAccepted | FinalResult


@dataclass(frozen=True)
class OutputRules:
    """Rules for the outputs of one attempt, beyond those for all outputs."""

    window: Window | None
    track_ids: Collection[int] | None


def result_of_output(value: Any, rules: OutputRules) -> FinalResult:
    """Return the result for an output: success if it is valid, else a failure."""
    checked = check_output(value, window=rules.window, track_ids=rules.track_ids)
    return AttemptSucceeded(checked) if isinstance(checked, StepOutput) else invalid_output(checked)


def result_of_body(content: bytes, rules: OutputRules) -> FinalResult:
    """Return the result for a response body; an empty body is an empty output."""
    if len(content) > MAX_RESPONSE_BYTES:
        return invalid_output([ValidationIssue("", IssueCode.TOO_LARGE)])
    if not content.strip():
        return AttemptSucceeded(StepOutput())
    try:
        scan_json(content)
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        return AttemptFailed(Failure(InvalidOutput.code, f"the output is not JSON: {reason}"[:500]))
    return result_of_output(value, rules)


def invalid_output(issues: list[ValidationIssue]) -> AttemptFailed:
    """Return the failure for an output with these issues; a retry would not help."""
    shown = ", ".join(f"{each.path or 'output'}: {each.code}" for each in issues[:_SHOWN_ISSUES])
    more = f" and {len(issues) - _SHOWN_ISSUES} more" if len(issues) > _SHOWN_ISSUES else ""
    reason = f"the output of the endpoint is invalid: {shown}{more}"
    return AttemptFailed(Failure(InvalidOutput.code, reason), issues=tuple(issues))


def result_to_json(result: FinalResult) -> dict[str, Any]:
    """Return a result as stored."""
    if isinstance(result, AttemptSucceeded):
        return {"output": result.output.to_json()}
    failure = result.failure
    return {
        "code": failure.code,
        "message": failure.message,
        "is_retryable": result.is_retryable,
    }


def result_from_json(stored: dict[str, Any]) -> FinalResult:
    """Return a stored result."""
    if "output" in stored:
        return AttemptSucceeded(StepOutput.from_json(stored["output"]))
    return AttemptFailed(Failure(stored["code"], stored["message"]), stored["is_retryable"])
