"""The SQL of endpoints. Every read for a caller filters by organization."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from psycopg.types.json import Json

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.endpoint import Endpoint
from framekiln.pipelines.model.pipeline import EndpointId, PageRequest
from framekiln.pipelines.stores import rows

Row = dict[str, Any]


async def insert(connection: Connection, endpoint: Endpoint) -> None:
    """Add an endpoint; the database sets its position."""
    await connection.execute(
        """
        INSERT INTO pipeline_endpoint (id, organization_id, url, headers, timeout_ms,
            callback_timeout_ms, max_concurrency, signing_secret, created_at)
        VALUES (%(id)s, %(organization_id)s, %(url)s, %(json)s, %(timeout_ms)s,
            %(callback_timeout_ms)s, %(max_concurrency)s, %(signing_secret)s, %(created_at)s)
        """,
        {**vars(endpoint), "json": Json(dict(endpoint.headers))},
    )


async def find(
    connection: Connection, organization_id: OrganizationId, endpoint_id: EndpointId
) -> Endpoint | None:
    """Return an endpoint of the organization, archived or not."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_endpoint WHERE id = %s AND organization_id = %s",
        (endpoint_id, organization_id),
    )
    row = await cursor.fetchone()
    return _endpoint(row) if row else None


async def find_all(
    connection: Connection, organization_id: OrganizationId, endpoint_ids: Collection[EndpointId]
) -> dict[EndpointId, Endpoint]:
    """Return the endpoints with these ids that exist."""
    cursor = await connection.execute(
        "SELECT * FROM pipeline_endpoint WHERE id = ANY(%s) AND organization_id = %s",
        (list(endpoint_ids), organization_id),
    )
    return {EndpointId(row["id"]): _endpoint(row) for row in await cursor.fetchall()}


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    page_request: PageRequest,
    *,
    include_archived: bool,
) -> list[Endpoint]:
    """Return a page of endpoints, newest first."""
    found = await rows.list_newest(
        connection,
        "SELECT * FROM pipeline_endpoint",
        organization_id,
        page_request=page_request,
        include_archived=include_archived,
    )
    return [_endpoint(row) for row in found]


async def archive(connection: Connection, endpoint_id: EndpointId, *, now: datetime) -> None:
    """Archive an endpoint; a repeated call keeps the first time."""
    await rows.archive(connection, "pipeline_endpoint", endpoint_id, now=now)


def _endpoint(row: Row) -> Endpoint:
    return Endpoint(
        id=EndpointId(row["id"]),
        position=row["position"],
        organization_id=OrganizationId(row["organization_id"]),
        url=row["url"],
        headers=row["headers"],
        timeout_ms=row["timeout_ms"],
        callback_timeout_ms=row["callback_timeout_ms"],
        max_concurrency=row["max_concurrency"],
        signing_secret=row["signing_secret"],
        created_at=row["created_at"],
        archived_at=row["archived_at"],
    )
