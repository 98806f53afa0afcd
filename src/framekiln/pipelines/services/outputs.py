"""The outputs of steps, by run and by file."""

from dataclasses import dataclass
from typing import Final

from framekiln.db.pool import Database
from framekiln.files.service import Files
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.pipelines.errors import NamespaceNotFound
from framekiln.pipelines.execution.coordinator import VersionCache
from framekiln.pipelines.model.pipeline import RunId, StepRunId
from framekiln.pipelines.model.run import LatestOutput, StoredOutput
from framekiln.pipelines.services.runs import find_run
from framekiln.pipelines.stores import output as output_store
from framekiln.pipelines.stores import unit as unit_store

MAX_PAGE_BYTES: Final = 8 << 20
"""Limit of a page, whatever number of outputs was requested."""


@dataclass(frozen=True)
class OutputPage:
    """Some outputs of a step; `next_number` is where the next page starts, None on the last."""

    outputs: list[StoredOutput]
    next_number: int | None


class Outputs:
    """The outputs of all organizations, for their owners."""

    def __init__(self, database: Database, *, files: Files, versions: VersionCache) -> None:
        self._database = database
        self._files = files
        self._versions = versions

    async def list_by_run(
        self,
        organization_id: OrganizationId,
        run_id: RunId,
        namespace: str,
        *,
        after: int | None,
        limit: int,
    ) -> OutputPage:
        """Return a page of the outputs of a run in a namespace."""
        async with self._database.connection() as connection:
            run = await find_run(connection, organization_id, run_id)
            version = await self._versions.get(connection, run.pipeline_id, run.pipeline_version)
            keys = [
                step.key
                for step in version.definition.steps.values()
                if step.namespace == namespace
            ]
            if not keys:
                raise NamespaceNotFound(f"run {run_id} has no step with namespace {namespace!r}")
            steps = (await unit_store.list_by_run(connection, [run_id]))[run_id]
        return await self._page(steps[keys[0]].id, after=after, limit=limit)

    async def list_namespaces(
        self, organization_id: OrganizationId, file_id: FileId, *, after: str | None, limit: int
    ) -> list[LatestOutput]:
        """Return the namespaces of a file, by name, with the step that wrote last to each."""
        await self._files.get(organization_id, file_id)
        async with self._database.connection() as connection:
            return await output_store.list_latest(connection, file_id, after=after, limit=limit)

    async def find_latest(
        self,
        organization_id: OrganizationId,
        file_id: FileId,
        namespace: str,
        *,
        after: int | None,
        limit: int,
    ) -> tuple[LatestOutput, OutputPage]:
        """Return a page of the latest outputs in a namespace of a file."""
        await self._files.get(organization_id, file_id)
        async with self._database.connection() as connection:
            found = await output_store.find_latest(connection, file_id, namespace)
        if found is None:
            raise NamespaceNotFound(f"file {file_id} has no output with namespace {namespace!r}")
        return found, await self._page(found.step_run_id, after=after, limit=limit)

    async def _page(self, step_run_id: StepRunId, *, after: int | None, limit: int) -> OutputPage:
        async with self._database.connection() as connection:
            page = await output_store.list_page(
                connection, step_run_id, after=after, limit=limit, max_bytes=MAX_PAGE_BYTES
            )
            if not page:
                return OutputPage([], None)
            last = page[-1].number
            has_more = await output_store.has_more(connection, step_run_id, after=last)
        return OutputPage(page, last if has_more else None)
