"""Pipelines for their owners: create them, add versions, archive them."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from framekiln.audit.log import record
from framekiln.db.pool import Connection, Database
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.normal_form import digest, normal_form
from framekiln.pipelines.definition.step_rules import DefinitionWarning, definition_warnings
from framekiln.pipelines.definition.validation import has_too_many_values, validate
from framekiln.pipelines.errors import (
    EndpointArchived,
    EndpointNotFound,
    PipelineArchived,
    PipelineNameTaken,
    PipelineNotFound,
    VersionNotFound,
    invalid_definition,
)
from framekiln.pipelines.execution.step_type import StepTypes, named_endpoints
from framekiln.pipelines.model.pipeline import (
    PageRequest,
    Pipeline,
    PipelineId,
    PipelineVersion,
)
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue
from framekiln.pipelines.stores import endpoint as endpoint_store
from framekiln.pipelines.stores import pipeline as pipeline_store


class Pipelines:
    """The pipelines of all organizations, for their owners."""

    def __init__(self, database: Database, *, clock: Clock, step_types: StepTypes) -> None:
        self._database = database
        self._clock = clock
        self._step_types = step_types

    def warnings(self, definition: Mapping[str, Any]) -> list[DefinitionWarning]:
        """Return what is to be said of a definition that was accepted, as its author wrote it."""
        return definition_warnings(definition, self._step_types)

    async def create(
        self, organization_id: OrganizationId, name: str, definition: Any
    ) -> tuple[Pipeline, PipelineVersion]:
        """Create a pipeline with its first version."""
        checked = await asyncio.to_thread(read_definition, definition, self._step_types)
        pipeline_id = PipelineId(new_uuid())
        async with self._database.transaction() as connection:
            await self._check_endpoints(connection, organization_id, checked)
            is_new = await pipeline_store.insert(
                connection,
                pipeline_id,
                name,
                organization_id=organization_id,
                now=self._clock.now(),
            )
            if not is_new:
                raise PipelineNameTaken(
                    f"there is already a pipeline named {name!r}; choose another name"
                )
            version = await self._add_version(connection, pipeline_id, checked)
            await record(
                connection,
                organization_id,
                "pipeline.created",
                resource=pipeline_id,
                now=self._clock.now(),
                name=name,
            )
            pipeline = await pipeline_store.find(connection, organization_id, pipeline_id)
        assert pipeline is not None
        return pipeline, version

    async def issues(
        self, organization_id: OrganizationId, definition: Any
    ) -> tuple[ValidationIssue, ...]:
        """Return what is wrong with a definition, without storing it; nothing if it is valid."""
        if has_too_many_values(definition):
            return (ValidationIssue("", IssueCode.TOO_MANY),)
        checked = await asyncio.to_thread(validate, definition, self._step_types)
        if not isinstance(checked, Definition):
            return tuple(checked)
        async with self._database.connection() as connection:
            problems = await self._endpoint_problems(connection, organization_id, checked)
        return tuple(
            ValidationIssue(f"steps.{key}.with.endpoint_id", IssueCode.UNKNOWN_VALUE)
            for key in problems
        )

    async def get(self, organization_id: OrganizationId, pipeline_id: PipelineId) -> Pipeline:
        """Return a pipeline of the organization."""
        async with self._database.connection() as connection:
            return await find_pipeline(connection, organization_id, pipeline_id)

    async def page(
        self, organization_id: OrganizationId, page_request: PageRequest, *, include_archived: bool
    ) -> list[Pipeline]:
        """Return a page of pipelines, newest first."""
        async with self._database.connection() as connection:
            return await pipeline_store.list_newest(
                connection, organization_id, page_request, include_archived=include_archived
            )

    async def archive(self, organization_id: OrganizationId, pipeline_id: PipelineId) -> Pipeline:
        """Archive a pipeline: nothing new is accepted, its name is free. May be repeated."""
        async with self._database.transaction() as connection:
            pipeline = await lock_pipeline(connection, organization_id, pipeline_id)
            now = self._clock.now()
            await pipeline_store.archive(connection, pipeline_id, now=now)
            if pipeline.archived_at is None:
                await record(
                    connection,
                    organization_id,
                    "pipeline.archived",
                    resource=pipeline_id,
                    now=now,
                    name=pipeline.name,
                )
            return await find_pipeline(connection, organization_id, pipeline_id)

    async def add_version(
        self, organization_id: OrganizationId, pipeline_id: PipelineId, definition: Any
    ) -> tuple[PipelineVersion, bool]:
        """Add a version, or return an identical one; also return whether it is new."""
        async with self._database.transaction() as connection:
            pipeline = await lock_pipeline(connection, organization_id, pipeline_id)
            checked = await asyncio.to_thread(read_definition, definition, self._step_types)
            _check_not_archived(pipeline)
            found = await pipeline_store.find_version_by_digest(
                connection, pipeline_id, digest(checked)
            )
            if found is not None:
                return found, False
            await self._check_endpoints(connection, organization_id, checked)
            version = await self._add_version(connection, pipeline_id, checked)
            await record(
                connection,
                organization_id,
                "pipeline.changed",
                resource=pipeline_id,
                now=self._clock.now(),
                name=pipeline.name,
                version=version.number,
            )
            return version, True

    async def version(
        self, organization_id: OrganizationId, pipeline_id: PipelineId, number: int
    ) -> PipelineVersion:
        """Return a version of a pipeline."""
        async with self._database.connection() as connection:
            await find_pipeline(connection, organization_id, pipeline_id)
            return await find_version(connection, pipeline_id, number)

    async def versions(
        self, organization_id: OrganizationId, pipeline_id: PipelineId, page_request: PageRequest
    ) -> list[PipelineVersion]:
        """Return a page of versions, newest first; their numbers are their positions."""
        async with self._database.connection() as connection:
            await find_pipeline(connection, organization_id, pipeline_id)
            return await pipeline_store.list_versions(connection, pipeline_id, page_request)

    async def _add_version(
        self, connection: Connection, pipeline_id: PipelineId, definition: Definition
    ) -> PipelineVersion:
        return await pipeline_store.add_version(
            connection,
            pipeline_id,
            normal_form(definition),
            digest=digest(definition),
            now=self._clock.now(),
        )

    async def _check_endpoints(
        self, connection: Connection, organization_id: OrganizationId, definition: Definition
    ) -> None:
        problems = await self._endpoint_problems(connection, organization_id, definition)
        if problems:
            raise next(iter(problems.values()))

    async def _endpoint_problems(
        self, connection: Connection, organization_id: OrganizationId, definition: Definition
    ) -> dict[str, EndpointNotFound | EndpointArchived]:
        """Return what is wrong with the endpoints of a definition, by a step that names each."""
        named = named_endpoints(definition, self._step_types)
        wanted = {endpoint_id: key for key, endpoint_id in named.items()}
        if not wanted:
            return {}
        found = await endpoint_store.find_all(connection, organization_id, wanted.keys())
        problems: dict[str, EndpointNotFound | EndpointArchived] = {}
        for endpoint_id, key in wanted.items():
            if endpoint_id not in found:
                problems[key] = EndpointNotFound(f"step {key}: there is no endpoint {endpoint_id}")
            elif found[endpoint_id].archived_at is not None:
                problems[key] = EndpointArchived(f"step {key}: endpoint {endpoint_id} is archived")
        return problems


def read_definition(value: Any, types: StepTypes) -> Definition:
    """Return the definition that is written in `value`, or raise with all its issues."""
    if has_too_many_values(value):
        raise invalid_definition([ValidationIssue("", IssueCode.TOO_MANY)])
    checked = validate(value, types)
    if isinstance(checked, Definition):
        return checked
    raise invalid_definition(checked)


async def find_pipeline(
    connection: Connection, organization_id: OrganizationId, pipeline_id: PipelineId
) -> Pipeline:
    """Return a pipeline, or raise `PipelineNotFound`."""
    pipeline = await pipeline_store.find(connection, organization_id, pipeline_id)
    if pipeline is None:
        raise pipeline_not_found(pipeline_id)
    return pipeline


async def lock_pipeline(
    connection: Connection,
    organization_id: OrganizationId,
    pipeline_id: PipelineId,
    *,
    is_shared: bool = False,
) -> Pipeline:
    """Return a pipeline, locked until the transaction ends, or raise."""
    if not await pipeline_store.lock(connection, organization_id, pipeline_id, is_shared=is_shared):
        raise pipeline_not_found(pipeline_id)
    return await find_pipeline(connection, organization_id, pipeline_id)


async def find_version(
    connection: Connection, pipeline_id: PipelineId, number: int
) -> PipelineVersion:
    """Return a version, or raise `VersionNotFound`."""
    version = await pipeline_store.find_version(connection, pipeline_id, number)
    if version is None:
        raise VersionNotFound(f"pipeline {pipeline_id} has no version {number}")
    return version


async def lock_runnable_version(
    connection: Connection,
    organization_id: OrganizationId,
    pipeline_id: PipelineId,
    *,
    number: int | None,
) -> int:
    """Return the number of a version that accepts runs, by default the latest, or raise.

    Its pipeline cannot be archived until the transaction ends.
    """
    pipeline = await lock_pipeline(connection, organization_id, pipeline_id, is_shared=True)
    _check_not_archived(pipeline)
    return (await find_version(connection, pipeline_id, number or pipeline.latest_version)).number


def _check_not_archived(pipeline: Pipeline) -> None:
    """Raise if a pipeline is archived."""
    if pipeline.archived_at is not None:
        raise PipelineArchived(
            f"pipeline {pipeline.id} is archived; it accepts no versions, runs or batches"
        )


def pipeline_not_found(pipeline_id: UUID) -> PipelineNotFound:
    """Return the error for an unknown pipeline."""
    return PipelineNotFound(f"there is no pipeline {pipeline_id}")
