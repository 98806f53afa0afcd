"""An id type for each noun of pipelines."""

from typing import NewType
from uuid import UUID

PipelineId = NewType("PipelineId", UUID)
EndpointId = NewType("EndpointId", UUID)
RunId = NewType("RunId", UUID)
StepRunId = NewType("StepRunId", UUID)
BatchId = NewType("BatchId", UUID)
ReviewId = NewType("ReviewId", UUID)
AttemptId = NewType("AttemptId", UUID)
