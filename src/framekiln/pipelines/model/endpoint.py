"""An endpoint: an HTTP service of the owner that does steps. It never changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.ids import AttemptId, EndpointId, PipelineId, RunId, StepRunId


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One endpoint, as stored. Its headers may be secret."""

    id: EndpointId
    position: int
    organization_id: OrganizationId
    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout_ms: int
    callback_timeout_ms: int
    max_concurrency: int
    signing_secret: str = field(repr=False)
    created_at: datetime
    archived_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class EndpointAttempt:
    """A new attempt of an endpoint step."""

    id: AttemptId
    run_id: RunId
    step_run_id: StepRunId
    window_number: int | None
    endpoint_id: EndpointId
    pipeline_id: PipelineId
    pipeline_version: int
    step_key: str
    step_max_concurrency: int
    number: int
    idempotency_key: str
    due_at: datetime
    created_at: datetime
