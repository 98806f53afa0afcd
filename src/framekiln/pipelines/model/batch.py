"""A batch: runs of one version on many files, a limited number at a time."""

from dataclasses import dataclass
from datetime import datetime

from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.pipelines.model.ids import BatchId, PipelineId


@dataclass(frozen=True)
class BatchCounts:
    """The runs of a batch, by status."""

    runs: int
    succeeded: int
    failed: int
    filtered: int
    cancelled: int

    @property
    def is_completed(self) -> bool:
        """Whether every run has ended."""
        return self.runs == self.succeeded + self.failed + self.filtered + self.cancelled


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One batch, as stored, with the counts of its runs."""

    id: BatchId
    position: int
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    pipeline_id: PipelineId
    pipeline_version: int
    max_in_flight: int
    created_at: datetime
    completed_at: datetime | None
    counts: BatchCounts

    @property
    def status(self) -> str:
        """Running until every run has ended."""
        return "completed" if self.counts.is_completed else "running"
