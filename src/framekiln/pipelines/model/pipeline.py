"""Pipelines, their versions and batches, as they are stored; ids of all nouns.

A batch has runs of one version on many files, a limited number at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NewType
from uuid import UUID

from framekiln.kit.ids import ApiKeyId, OrganizationId

PipelineId = NewType("PipelineId", UUID)
EndpointId = NewType("EndpointId", UUID)
RunId = NewType("RunId", UUID)
StepRunId = NewType("StepRunId", UUID)
BatchId = NewType("BatchId", UUID)
ReviewId = NewType("ReviewId", UUID)
AttemptId = NewType("AttemptId", UUID)


@dataclass(frozen=True)
class PageRequest:
    """At most `limit` items, older than the one at position `before`."""

    limit: int
    before: int | None = None


@dataclass(frozen=True)
class Pipeline:
    """A named series of versions."""

    id: PipelineId
    position: int
    organization_id: OrganizationId
    name: str
    latest_version: int
    created_at: datetime
    archived_at: datetime | None


@dataclass(frozen=True)
class PipelineVersion:
    """One definition of a pipeline; it never changes."""

    pipeline_id: PipelineId
    number: int
    digest: str
    definition: Mapping[str, Any]
    """In its normal form."""
    created_at: datetime


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
