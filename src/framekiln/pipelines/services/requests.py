"""The bodies of requests about pipelines: what may stand in them, read with every issue. Pure."""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from pydantic import Field

from framekiln.kit.canonical_json import sha256_digest
from framekiln.pipelines.errors import invalid_request
from framekiln.pipelines.outputs.corrections import CorrectionBody
from framekiln.pipelines.schema.field_types import (
    AnyUuid,
    DescribedJson,
    IntegerBetween,
    JsonType,
    ListOf,
    Text,
)
from framekiln.pipelines.schema.issues import (
    InnerIssues,
    IssueCode,
    Location,
    ValidationIssue,
    issue_error,
    sorted_issues,
)
from framekiln.pipelines.schema.records import Record, as_json, read

RequestT = TypeVar("RequestT", bound="RequestRecord")

MAX_RUNS: Final = 1000
MAX_HEADERS: Final = 16
MAX_KEY_CHARS: Final = 255
"""Of an idempotency key."""
MAX_EXTERNAL_ID_CHARS: Final = 255
_MAX_VERSION: Final = 2**31 - 1
_DAY_MS: Final = 86_400_000
# What the names of headers are made of, and what their values may hold.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_VALUE: Final = re.compile(r"[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?")
_RESERVED_HEADERS: Final = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    }
)
_RESERVED_PREFIXES: Final = ("proxy-", "webhook-")


ExternalId = Annotated[str, Text(maximum=MAX_EXTERNAL_ID_CHARS)]
IdempotencyKey = Annotated[str, Text(maximum=MAX_KEY_CHARS)]
VersionNumber = Annotated[int, IntegerBetween(1, _MAX_VERSION)]
HeaderValue = Annotated[str, Text(maximum=4096, pattern=_VALUE)]


@dataclass(frozen=True)
class Headers(JsonType):
    """Headers that are sent along; those that frame or sign a request are ours."""

    def check(self, value: Any) -> dict[str, str]:
        """Return the headers with names in lower case, or raise."""
        if not isinstance(value, dict):
            raise issue_error(IssueCode.TYPE)
        if len(value) > MAX_HEADERS:
            raise issue_error(IssueCode.TOO_MANY)
        issues = InnerIssues()
        headers: dict[str, str] = {}
        for name, text in value.items():
            at, lower = issues.place / name, str(name).lower()
            if not _TOKEN.fullmatch(lower):
                at.report(IssueCode.PATTERN)
            elif lower in _RESERVED_HEADERS or lower.startswith(_RESERVED_PREFIXES):
                at.report(IssueCode.NOT_ALLOWED)
            elif lower in headers:
                at.report(IssueCode.DUPLICATE)
            else:
                headers[lower] = read(HeaderValue, text, at) or ""
        issues.raise_any()
        return headers

    def described(self) -> Any:
        """See `JsonType`."""
        return Annotated[dict[str, HeaderValue], Field(max_length=MAX_HEADERS)]


@dataclass(frozen=True, kw_only=True)
class RequestRecord(Record):
    """A body that was read."""

    @property
    def digest(self) -> str:
        """The same for bodies that mean the same."""
        return sha256_digest(as_json(self))


@dataclass(frozen=True, kw_only=True)
class RunRequest(RequestRecord):
    """POST /api/v1/pipeline-runs."""

    pipeline_id: Annotated[UUID, AnyUuid()]
    file_id: Annotated[UUID, AnyUuid()]
    external_id: ExternalId | None = None
    version: VersionNumber | None = None


@dataclass(frozen=True, kw_only=True)
class BatchRun(RequestRecord):
    """One run of a batch."""

    file_id: Annotated[UUID, AnyUuid()]
    external_id: ExternalId | None = None


@dataclass(frozen=True, kw_only=True)
class BatchRequest(RequestRecord):
    """POST /api/v1/pipeline-batches."""

    pipeline_id: Annotated[UUID, AnyUuid()]
    runs: Annotated[tuple[BatchRun, ...], ListOf(minimum=1, maximum=MAX_RUNS)]
    max_in_flight: Annotated[int, IntegerBetween(1, 100_000)] = 100
    version: VersionNumber | None = None
    idempotency_key: IdempotencyKey | None = None

    @property
    def digest(self) -> str:
        """The same whether the key is in the body or in a header."""
        return sha256_digest(as_json(replace(self, idempotency_key=None)))


@dataclass(frozen=True, kw_only=True)
class EndpointRequest(RequestRecord):
    """POST /api/v1/pipeline-endpoints."""

    url: Annotated[str, Text(maximum=2048)]
    headers: Annotated[dict[str, str] | None, Headers()] = None
    timeout_ms: Annotated[int, IntegerBetween(1000, 600_000)] = 30_000
    callback_timeout_ms: Annotated[int, IntegerBetween(1000, 30 * _DAY_MS)] = 3_600_000
    max_concurrency: Annotated[int, IntegerBetween(1, 1024)] = 8


@dataclass(frozen=True, kw_only=True)
class PipelineRequest(RequestRecord):
    """POST /api/v1/pipelines."""

    name: Annotated[str, Text(maximum=200, is_name=True)]
    definition: Any
    """Read apart."""


@dataclass(frozen=True, kw_only=True)
class ApproveRequest(RequestRecord):
    """POST /api/v1/pipeline-reviews/:id/approve."""

    metadata_patch: Annotated[Any, DescribedJson(CorrectionBody | None)] = None
    """Read apart."""


@dataclass(frozen=True, kw_only=True)
class RejectRequest(RequestRecord):
    """POST /api/v1/pipeline-reviews/:id/reject."""

    reason: Annotated[str | None, Text(maximum=2000)] = None


def read_body(record: type[RequestT], value: Any) -> RequestT:
    """Return the body that is written in `value`, or raise with all that is wrong with it."""
    issues: list[ValidationIssue] = []
    body = read(record, value, Location(issues))
    if body is None:
        raise invalid_request(sorted_issues(issues))
    return body


def read_batch(value: Any) -> BatchRequest:
    """Return the batch that is asked for, or raise."""
    batch = read_body(BatchRequest, value)
    if issues := _duplicate_files(batch):
        raise invalid_request(sorted_issues(issues))
    return batch


def read_idempotency_key(text: str | None) -> str | None:
    """Return an idempotency key, or raise; without the header there is none."""
    if text is None:
        return None
    issues: list[ValidationIssue] = []
    read(IdempotencyKey, text, Location(issues) / "Idempotency-Key")
    if issues:
        raise invalid_request(issues)
    return text


def _duplicate_files(batch: BatchRequest) -> list[ValidationIssue]:
    seen: set[UUID] = set()
    issues = []
    for number, run in enumerate(batch.runs):
        if run.file_id in seen:
            issues.append(ValidationIssue(f"runs.{number}.file_id", IssueCode.DUPLICATE))
        seen.add(run.file_id)
    return issues
