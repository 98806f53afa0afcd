"""Errors of pipeline requests, and reasons why steps and runs fail."""

from collections.abc import Iterable
from typing import TypeVar

from framekiln.kit.errors import (
    CompositionFailed,
    Conflict,
    FramekilnError,
    InvalidInput,
    NotFound,
    RemoteFailed,
)
from framekiln.pipelines.schema.issues import ISSUE_WORDS, ValidationIssue

InvalidInputT = TypeVar("InvalidInputT", bound=InvalidInput)


class InvalidDefinition(InvalidInput):
    """A definition with issues; `issues` has all of them."""

    code = "invalid_definition"


class PipelineNotFound(NotFound):
    """No such pipeline in this organization."""

    code = "pipeline_not_found"


class VersionNotFound(NotFound):
    """The pipeline has no such version."""

    code = "pipeline_version_not_found"


class PipelineNameTaken(Conflict):
    """Another pipeline that is not archived has this name."""

    code = "pipeline_name_taken"


class PipelineArchived(Conflict):
    """An archived pipeline accepts no versions, runs or batches."""

    code = "pipeline_archived"


class EndpointNotFound(NotFound):
    """No such endpoint in this organization; or, of a run, it was archived."""

    code = "endpoint_not_found"


class EndpointArchived(Conflict):
    """A new version cannot name an archived endpoint."""

    code = "endpoint_archived"


class RunNotFound(NotFound):
    """No such run in this organization."""

    code = "pipeline_run_not_found"


class NamespaceNotFound(NotFound):
    """The run has no step, or the file no output, with this namespace."""

    code = "namespace_not_found"


class BatchNotFound(NotFound):
    """No such batch in this organization."""

    code = "pipeline_batch_not_found"


class ReviewNotFound(NotFound):
    """No such review task in this organization."""

    code = "pipeline_review_not_found"


class IdempotencyConflict(Conflict):
    """The Idempotency-Key was used with another body."""

    code = "idempotency_conflict"


class RunNotCancellable(Conflict):
    """The run has already ended."""

    code = "run_not_cancellable"


class RunNotRetryable(Conflict):
    """Only runs that failed or were cancelled can be retried."""

    code = "run_not_retryable"


class ReviewConflict(Conflict):
    """The task has another decision."""

    code = "review_conflict"


class ReviewExpired(Conflict):
    """The task was not decided in time; also the failure of a step with `on_expiry: fail`."""

    code = "review_expired"


class ReviewNotPending(Conflict):
    """The task was cancelled with its run."""

    code = "review_not_pending"


class UnitLost(Conflict):
    """The step was taken over by another job, or has ended."""

    code = "step_lost"


class StepTimedOut(CompositionFailed):
    """An attempt took longer than the limit."""

    code = "step_timed_out"
    retryable = True


class StepKillsWorkers(CompositionFailed):
    """Several workers died while they ran this step."""

    code = "step_kills_workers"


class DecodeFailed(CompositionFailed):
    """The media of the file cannot be decoded."""

    code = "decode_failed"


class InvalidOutput(CompositionFailed):
    """The output of a step is invalid or too large."""

    code = "invalid_output"


class InputFileFailed(CompositionFailed):
    """The file of a run cannot be used."""

    code = "file_failed"


class RedactionFailed(CompositionFailed):
    """The render that a step had made failed. There is no automatic retry (spec 2.11)."""

    code = "redaction_failed"


class StepTypeUnavailable(FramekilnError):
    """This version has no runner for the step type."""

    code = "step_type_unavailable"


class EndpointUnavailable(RemoteFailed):
    """The endpoint could not be reached, was too slow, or answered that it is not available."""

    code = "endpoint_unavailable"


class EndpointRefused(RemoteFailed):
    """The endpoint refused the request, or answered with a redirect."""

    code = "endpoint_refused"
    retryable = False


class EndpointFailed(RemoteFailed):
    """The endpoint called back that it failed, without a code of its own."""

    code = "endpoint_failed"
    retryable = False


class CallbackTimedOut(RemoteFailed):
    """The endpoint accepted the work, but did not call back in time."""

    code = "callback_timed_out"


class CallbackNotFound(NotFound):
    """No attempt has this callback URL."""

    code = "callback_not_found"


class StepNotWaiting(Conflict):
    """The attempt has ended and accepts no callback."""

    code = "step_not_waiting"


def invalid_request(
    issues: Iterable[ValidationIssue], *, reason: str | None = None
) -> InvalidInput:
    """Return the error for a request body with these issues; `reason` says more of the first."""
    return _with_issues(InvalidInput, issues, what="the request", reason=reason)


def invalid_definition(issues: Iterable[ValidationIssue]) -> InvalidDefinition:
    """Return the error for a definition with these issues."""
    return _with_issues(InvalidDefinition, issues, what="the definition")


def _with_issues(
    kind: type[InvalidInputT],
    issues: Iterable[ValidationIssue],
    *,
    what: str,
    reason: str | None = None,
) -> InvalidInputT:
    found = list(issues)
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    message = f"{first.path or what}: {reason or ISSUE_WORDS[first.code]}{more}"
    return kind(message, issues=[{"path": each.path, "code": str(each.code)} for each in found])
