"""The SQL of pipelines and their versions. Every read for a caller filters by organization."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from psycopg.types.json import Json

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.pipeline import PageRequest, Pipeline, PipelineId, PipelineVersion
from framekiln.pipelines.stores import rows

Row = dict[str, Any]

_PIPELINE = """
SELECT pipeline.*, latest.number AS latest_version FROM pipeline
JOIN LATERAL (SELECT max(number) AS number FROM pipeline_version
    WHERE pipeline_id = pipeline.id) AS latest ON true
"""


async def insert(
    connection: Connection,
    pipeline_id: PipelineId,
    name: str,
    *,
    organization_id: OrganizationId,
    now: datetime,
) -> bool:
    """Add a pipeline without versions; False when its name is taken."""
    cursor = await connection.execute(
        """
        INSERT INTO pipeline (id, organization_id, name, created_at) VALUES (%s, %s, %s, %s)
        ON CONFLICT DO NOTHING
        """,
        (pipeline_id, organization_id, name, now),
    )
    return cursor.rowcount == 1


async def find(
    connection: Connection, organization_id: OrganizationId, pipeline_id: PipelineId
) -> Pipeline | None:
    """Return a pipeline of the organization."""
    cursor = await connection.execute(
        _PIPELINE + "WHERE pipeline.id = %s AND organization_id = %s",
        (pipeline_id, organization_id),
    )
    row = await cursor.fetchone()
    return _pipeline(row) if row else None


async def lock(
    connection: Connection,
    organization_id: OrganizationId,
    pipeline_id: PipelineId,
    *,
    is_shared: bool = False,
) -> bool:
    """Lock a pipeline until the transaction ends; False if there is none.

    A shared lock only prevents that it is archived.
    """
    strength = "SHARE" if is_shared else "NO KEY UPDATE"
    cursor = await connection.execute(
        f"SELECT FROM pipeline WHERE id = %s AND organization_id = %s FOR {strength}",
        (pipeline_id, organization_id),
    )
    return await cursor.fetchone() is not None


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    page_request: PageRequest,
    *,
    include_archived: bool,
) -> list[Pipeline]:
    """Return a page of pipelines, newest first."""
    found = await rows.list_newest(
        connection,
        _PIPELINE,
        organization_id,
        page_request=page_request,
        include_archived=include_archived,
    )
    return [_pipeline(row) for row in found]


async def archive(connection: Connection, pipeline_id: PipelineId, *, now: datetime) -> None:
    """Archive a pipeline; a repeated call keeps the first time."""
    await rows.archive(connection, "pipeline", pipeline_id, now=now)


async def add_version(
    connection: Connection,
    pipeline_id: PipelineId,
    definition: Mapping[str, Any],
    *,
    digest: str,
    now: datetime,
) -> PipelineVersion:
    """Add the next version; the caller has locked the pipeline."""
    cursor = await connection.execute(
        """
        INSERT INTO pipeline_version (pipeline_id, number, digest, definition, created_at)
        SELECT %(id)s, coalesce(max(number), 0) + 1, %(digest)s, %(definition)s, %(now)s
        FROM pipeline_version WHERE pipeline_id = %(id)s
        RETURNING *
        """,
        {"id": pipeline_id, "digest": digest, "definition": Json(dict(definition)), "now": now},
    )
    row = await cursor.fetchone()
    assert row is not None
    return _version(row)


async def find_version(
    connection: Connection, pipeline_id: PipelineId, number: int
) -> PipelineVersion | None:
    """Return a version of a pipeline."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_version WHERE pipeline_id = %s AND number = %s",
        (pipeline_id, number),
    )
    row = await cursor.fetchone()
    return _version(row) if row else None


async def find_version_by_digest(
    connection: Connection, pipeline_id: PipelineId, digest: str
) -> PipelineVersion | None:
    """Return the version with this digest."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_version WHERE pipeline_id = %s AND digest = %s",
        (pipeline_id, digest),
    )
    row = await cursor.fetchone()
    return _version(row) if row else None


async def list_versions(
    connection: Connection, pipeline_id: PipelineId, page_request: PageRequest
) -> list[PipelineVersion]:
    """Return a page of versions, newest first; their numbers are their positions."""
    cursor = await connection.execute(
        """
        SELECT * FROM pipeline_version
        WHERE pipeline_id = %(id)s AND (%(before)s::bigint IS NULL OR number < %(before)s)
        ORDER BY number DESC LIMIT %(limit)s
        """,
        {"id": pipeline_id, **vars(page_request)},
    )
    return [_version(row) for row in await cursor.fetchall()]


def _pipeline(row: Row) -> Pipeline:
    return Pipeline(
        id=PipelineId(row["id"]),
        position=row["position"],
        organization_id=OrganizationId(row["organization_id"]),
        name=row["name"],
        latest_version=row["latest_version"],
        created_at=row["created_at"],
        archived_at=row["archived_at"],
    )


def _version(row: Row) -> PipelineVersion:
    return PipelineVersion(
        pipeline_id=PipelineId(row["pipeline_id"]),
        number=row["number"],
        digest=row["digest"],
        definition=row["definition"],
        created_at=row["created_at"],
    )
