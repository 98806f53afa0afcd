"""Definitions of versions, read once: a version never changes."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from framekiln.db.pool import Connection
from framekiln.pipelines.definitions import normal_form
from framekiln.pipelines.definitions.definition import Definition
from framekiln.pipelines.model.ids import PipelineId
from framekiln.pipelines.tables.pipeline import store

_KEPT: Final = 256


@dataclass(frozen=True)
class KnownVersion:
    """A version as runs need it."""

    definition: Definition
    digest: str


class KnownVersions:
    """Remembers the versions that were asked for last."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[PipelineId, int], KnownVersion] = OrderedDict()

    async def get(
        self, connection: Connection, pipeline_id: PipelineId, number: int
    ) -> KnownVersion:
        """Return a version that is there."""
        key = (pipeline_id, number)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        version = await store.find_version(connection, pipeline_id, number)
        assert version is not None, "versions go only with all their runs"
        known = KnownVersion(normal_form.load(dict(version.definition)), version.digest)
        self._known[key] = known
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return known
