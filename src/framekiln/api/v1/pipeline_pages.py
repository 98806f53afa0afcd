"""The query parameters of pipeline lists."""

from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import Field

from framekiln.api.v1.pages import ListQuery
from framekiln.pipelines.model.review import ReviewFilter, ReviewStatus
from framekiln.pipelines.model.run import RunFilter
from framekiln.pipelines.scheduling.status import RunStatus


class ArchivableQuery(ListQuery):
    """The query of a list whose items can be archived."""

    include_archived: bool = Field(default=False, description="Whether to list archived ones, too.")


class RunQuery(ListQuery):
    """The query of GET /api/v1/pipeline-runs."""

    status: RunStatus | None = None
    pipeline_id: UUID | None = None
    file_id: UUID | None = None
    batch_id: UUID | None = None

    @property
    def filter(self) -> RunFilter:
        """The filter for runs."""
        return RunFilter(self.status, self.pipeline_id, self.file_id, self.batch_id)


class ReviewQuery(ListQuery):
    """The query of GET /api/v1/pipeline-reviews."""

    status: ReviewStatus | None = None
    run_id: UUID | None = None

    @property
    def filter(self) -> ReviewFilter:
        """The filter for review tasks."""
        return ReviewFilter(self.status, self.run_id)


ArchivableParameters = Annotated[ArchivableQuery, Query()]
RunParameters = Annotated[RunQuery, Query()]
ReviewParameters = Annotated[ReviewQuery, Query()]
