"""SQL shared by several tables: pages, archives and idempotency keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString
from uuid import UUID

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.pipeline import PageRequest

Row = dict[str, Any]

IdempotentTable = Literal["pipeline_run", "pipeline_batch"]


@dataclass(frozen=True)
class IdempotencyRecord:
    """The resource that was created with an idempotency key."""

    table: IdempotentTable
    id: UUID
    request_digest: str


async def list_newest(
    connection: Connection,
    select: str,
    organization_id: OrganizationId,
    *,
    page_request: PageRequest,
    wanted: Mapping[str, Any] | None = None,
    include_archived: bool = True,
) -> list[Row]:
    """Return rows of an organization, newest first; `wanted` has columns and their values.

    A column with None is left out of the query, so that each combination uses its own index.
    """
    columns = {name: value for name, value in (wanted or {}).items() if value is not None}
    conditions = [f"AND {name} = %({name})s" for name in columns]
    if not include_archived:
        conditions.append("AND archived_at IS NULL")
    if page_request.before is not None:
        conditions.append("AND position < %(before)s")
    cursor = await connection.execute(
        f"""
        {select} WHERE organization_id = %(organization_id)s {" ".join(conditions)}
        ORDER BY position DESC LIMIT %(limit)s
        """,
        {**columns, **vars(page_request), "organization_id": organization_id},
    )
    return await cursor.fetchall()


async def archive(
    connection: Connection, table: LiteralString, row_id: UUID, *, now: datetime
) -> None:
    """Archive a row; a repeated call keeps the first time."""
    await connection.execute(
        f"UPDATE {table} SET archived_at = coalesce(archived_at, %s) WHERE id = %s",  # noqa: S608
        (now, row_id),
    )


async def lock_idempotency_key(
    connection: Connection, organization_id: OrganizationId, key: str, *, table: IdempotentTable
) -> IdempotencyRecord | None:
    """Lock an idempotency key until the transaction ends; return what it created, if anything.

    If it created several resources, which older versions allowed, the one in `table` counts.
    """
    lock = f"pipeline-key:{organization_id}:{key}"
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (lock,))
    cursor = await connection.execute(
        """
        SELECT * FROM (
            SELECT 'pipeline_run' AS source_table, id, request_digest FROM pipeline_run
            WHERE organization_id = %(organization_id)s AND idempotency_key = %(key)s
            UNION ALL
            SELECT 'pipeline_batch', id, request_digest FROM pipeline_batch
            WHERE organization_id = %(organization_id)s AND idempotency_key = %(key)s
        ) AS created
        ORDER BY source_table = %(table)s DESC LIMIT 1
        """,
        {"organization_id": organization_id, "key": key, "table": table},
    )
    row = await cursor.fetchone()
    return IdempotencyRecord(row["source_table"], row["id"], row["request_digest"]) if row else None
