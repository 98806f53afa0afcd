"""Definitions of versions, read once: a version never changes."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from framekiln.db.pool import Connection
from framekiln.pipelines.definition import normal_form
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.execution.step_type import StepTypes
from framekiln.pipelines.model.ids import PipelineId
from framekiln.pipelines.stores import pipeline as pipeline_store

_MAX_CACHED: Final = 256


@dataclass(frozen=True)
class CachedVersion:
    """A version as runs need it."""

    definition: Definition
    digest: str


class VersionCache:
    """Caches the versions that were used last."""

    def __init__(self, step_types: StepTypes) -> None:
        self._step_types = step_types
        self._cached: OrderedDict[tuple[PipelineId, int], CachedVersion] = OrderedDict()

    async def get(
        self, connection: Connection, pipeline_id: PipelineId, number: int
    ) -> CachedVersion:
        """Return a version, which must exist."""
        key = (pipeline_id, number)
        if key in self._cached:
            self._cached.move_to_end(key)
            return self._cached[key]
        version = await pipeline_store.find_version(connection, pipeline_id, number)
        assert version is not None, "a version is deleted only with all its runs"
        known = CachedVersion(
            normal_form.load(dict(version.definition), self._step_types), version.digest
        )
        self._cached[key] = known
        if len(self._cached) > _MAX_CACHED:
            self._cached.popitem(last=False)
        return known
