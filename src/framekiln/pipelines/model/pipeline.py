"""Pipelines and their versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.ids import PipelineId


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
