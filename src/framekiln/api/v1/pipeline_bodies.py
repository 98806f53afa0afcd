"""Response bodies of pipelines, versions, endpoints, batches and outputs."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field

from framekiln.kit.clock import iso
from framekiln.pipelines.definition.step_rules import DefinitionWarning
from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.model.pipeline import Batch, Pipeline, PipelineVersion
from framekiln.pipelines.model.run import LatestOutput, StoredOutput

Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]

HIDDEN = "***"
"""Replaces the value of a header, which may be a secret."""


class VersionInfo(BaseModel):
    """One definition of a pipeline."""

    pipeline_id: UUID
    version: int
    digest: str
    definition: dict[str, Any]
    created_at: Instant

    @classmethod
    def of(cls, version: PipelineVersion) -> "VersionInfo":
        """Return the response for a version."""
        return cls(
            pipeline_id=version.pipeline_id,
            version=version.number,
            digest=version.digest,
            definition=dict(version.definition),
            created_at=version.created_at.isoformat(),
        )


class WarningInfo(BaseModel):
    """Something in a definition that is allowed but probably a mistake."""

    path: str
    code: str
    message: str

    @classmethod
    def all_of(cls, warnings: Iterable[DefinitionWarning]) -> "list[WarningInfo]":
        """Return the response for warnings."""
        return [cls(**vars(each)) for each in warnings]


class IssueInfo(BaseModel):
    """What is wrong at a place of a definition."""

    path: str
    code: str


class DefinitionCheck(BaseModel):
    """Whether a definition could be stored, and what is wrong with it."""

    valid: bool
    issues: list[IssueInfo]
    warnings: list[WarningInfo]


class VersionCreated(BaseModel):
    """A version, and whether it is new."""

    version: VersionInfo
    created: bool
    warnings: list[WarningInfo]


class VersionList(BaseModel):
    """A page of versions, newest first."""

    versions: list[VersionInfo]
    next_cursor: str | None


class PipelineInfo(BaseModel):
    """A pipeline in a list."""

    id: UUID
    name: str
    latest_version: int
    created_at: Instant
    archived_at: Instant | None

    @classmethod
    def of(cls, pipeline: Pipeline) -> "PipelineInfo":
        """Return the list item for a pipeline."""
        return cls(**_pipeline(pipeline))


class PipelineDetail(PipelineInfo):
    """A pipeline with its latest version."""

    version: VersionInfo

    @classmethod
    def describe(cls, pipeline: Pipeline, latest: PipelineVersion) -> "PipelineDetail":
        """Return the pipeline with its latest version."""
        return cls(**_pipeline(pipeline), version=VersionInfo.of(latest))


class PipelineCreated(PipelineDetail):
    """A pipeline that was just created."""

    warnings: list[WarningInfo]


class PipelineList(BaseModel):
    """A page of pipelines, newest first."""

    pipelines: list[PipelineInfo]
    next_cursor: str | None


class EndpointInfo(BaseModel):
    """An endpoint, without its secret and the values of its headers."""

    id: UUID
    url: str
    headers: dict[str, str]
    timeout_ms: int
    callback_timeout_ms: int
    max_concurrency: int
    created_at: Instant
    archived_at: Instant | None

    @classmethod
    def of(cls, endpoint: Endpoint) -> "EndpointInfo":
        """Return what every member of the organization may see."""
        return cls(**_endpoint(endpoint))


class EndpointWithSecret(EndpointInfo):
    """An endpoint with its secret, which is shown once."""

    signing_secret: str

    @classmethod
    def of(cls, endpoint: Endpoint) -> "EndpointWithSecret":
        """Return the response to its registration."""
        return cls(**_endpoint(endpoint), signing_secret=endpoint.signing_secret)


class EndpointList(BaseModel):
    """A page of endpoints, newest first."""

    endpoints: list[EndpointInfo]
    next_cursor: str | None


class BatchInfo(BaseModel):
    """A batch, and the status counts of its runs."""

    id: UUID
    pipeline_id: UUID
    pipeline_version: int
    status: str
    max_in_flight: int
    run_count: int
    succeeded_count: int
    failed_count: int
    filtered_count: int
    cancelled_count: int
    created_at: Instant
    completed_at: Instant | None

    @classmethod
    def of(cls, batch: Batch) -> "BatchInfo":
        """Return the response for a batch."""
        return cls(**_batch(batch))


class BatchCreated(BaseModel):
    """A batch, and whether it is new."""

    batch: BatchInfo
    created: bool


class BatchDetail(BatchInfo):
    """A batch, twice: at the top level and under `batch`, for both kinds of clients."""

    batch: BatchInfo

    @classmethod
    def of(cls, batch: Batch) -> "BatchDetail":
        """Return the response for a batch."""
        return cls(**_batch(batch), batch=BatchInfo.of(batch))


class BatchList(BaseModel):
    """A page of batches, newest first."""

    batches: list[BatchInfo]
    next_cursor: str | None


class OutputWindow(BaseModel):
    """The window of the file; all null for a whole-file step."""

    index: int | None
    start_ms: int | None
    end_ms: int | None
    overlap_ms: int | None


class OutputBody(BaseModel):
    """The content of a step's output."""

    metadata: dict[str, Any]
    annotations: list[dict[str, Any]]


class OutputItem(BaseModel):
    """The output of a step, or of one window."""

    window: OutputWindow
    output: OutputBody

    @classmethod
    def of(cls, stored: StoredOutput) -> "OutputItem":
        """Return the response for an output."""
        window = stored.window
        return cls(
            window=OutputWindow(
                index=window.index if window else None,
                start_ms=window.start_ms if window else None,
                end_ms=window.end_ms if window else None,
                overlap_ms=window.overlap_ms if window else None,
            ),
            output=OutputBody(**stored.output),
        )


class OutputList(BaseModel):
    """A page of outputs, in the order of windows."""

    outputs: list[OutputItem]
    next_cursor: str | None


class NamespaceInfo(BaseModel):
    """A namespace of a file, and the last run that wrote to it."""

    namespace: str
    run_id: UUID
    step_key: str
    updated_at: Instant

    @classmethod
    def of(cls, latest: LatestOutput) -> "NamespaceInfo":
        """Return the response for a namespace."""
        return cls(**_namespace(latest))


class NamespaceList(BaseModel):
    """A page of namespaces, by name."""

    namespaces: list[NamespaceInfo]
    next_cursor: str | None


class NamespaceOutputs(NamespaceInfo):
    """The latest outputs in a namespace of a file."""

    outputs: list[OutputItem]
    next_cursor: str | None

    @classmethod
    def describe(
        cls, latest: LatestOutput, outputs: list[StoredOutput], next_cursor: str | None
    ) -> "NamespaceOutputs":
        """Return a page of outputs."""
        shown = [OutputItem.of(each) for each in outputs]
        return cls(**_namespace(latest), outputs=shown, next_cursor=next_cursor)


def _pipeline(pipeline: Pipeline) -> dict[str, Any]:
    return {
        "id": pipeline.id,
        "name": pipeline.name,
        "latest_version": pipeline.latest_version,
        "created_at": iso(pipeline.created_at),
        "archived_at": iso(pipeline.archived_at),
    }


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    headers: Mapping[str, str] = endpoint.headers
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "headers": dict.fromkeys(headers, HIDDEN),
        "timeout_ms": endpoint.timeout_ms,
        "callback_timeout_ms": endpoint.callback_timeout_ms,
        "max_concurrency": endpoint.max_concurrency,
        "created_at": iso(endpoint.created_at),
        "archived_at": iso(endpoint.archived_at),
    }


def _batch(batch: Batch) -> dict[str, Any]:
    return {
        "id": batch.id,
        "pipeline_id": batch.pipeline_id,
        "pipeline_version": batch.pipeline_version,
        "status": batch.status,
        "max_in_flight": batch.max_in_flight,
        "run_count": batch.counts.runs,
        "succeeded_count": batch.counts.succeeded,
        "failed_count": batch.counts.failed,
        "filtered_count": batch.counts.filtered,
        "cancelled_count": batch.counts.cancelled,
        "created_at": iso(batch.created_at),
        "completed_at": iso(batch.completed_at),
    }


def _namespace(latest: LatestOutput) -> dict[str, Any]:
    return {
        "namespace": latest.namespace,
        "run_id": latest.run_id,
        "step_key": latest.step_key,
        "updated_at": iso(latest.written_at),
    }
