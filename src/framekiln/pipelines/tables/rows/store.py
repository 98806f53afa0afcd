"""The SQL for what rows of all nouns have in common: an organization, a position, an archive."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.pipelines.model.listing import Stretch

Row = dict[str, Any]


async def list_newest(
    connection: Connection,
    select: str,
    organization_id: OrganizationId,
    *,
    stretch: Stretch,
    wanted: Mapping[str, Any] | None = None,
    include_archived: bool = True,
) -> list[Row]:
    """Return rows of an organization, newest first; `wanted` are columns and what they must be.

    Columns that may have any value are None. What is not asked for is left out of the query, so
    that each question finds its own index.
    """
    columns = {name: value for name, value in (wanted or {}).items() if value is not None}
    conditions = [f"AND {name} = %({name})s" for name in columns]
    if not include_archived:
        conditions.append("AND archived_at IS NULL")
    if stretch.before is not None:
        conditions.append("AND position < %(before)s")
    cursor = await connection.execute(
        f"""
        {select} WHERE organization_id = %(organization_id)s {" ".join(conditions)}
        ORDER BY position DESC LIMIT %(limit)s
        """,
        {**columns, **vars(stretch), "organization_id": organization_id},
    )
    return await cursor.fetchall()


async def archive(
    connection: Connection, table: LiteralString, row_id: UUID, *, now: datetime
) -> None:
    """Let a row take nothing new; the first time stays."""
    await connection.execute(
        f"UPDATE {table} SET archived_at = coalesce(archived_at, %s) WHERE id = %s",  # noqa: S608
        (now, row_id),
    )
