"""Pages of an organization's rows, newest first, for tables with `created_at`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId


@dataclass(frozen=True)
class RowPosition:
    """The place of a row in a list. The id decides between rows of the same instant."""

    created_at: datetime
    id: UUID


@dataclass(frozen=True)
class NewestPage:
    """Which rows to list: at most `limit`, older than `before`."""

    limit: int
    before: RowPosition | None = None


async def list_newest_rows(
    connection: Connection,
    table: LiteralString,
    organization_id: OrganizationId,
    *,
    page: NewestPage,
    conditions: Mapping[LiteralString, Any],
) -> list[dict[str, Any]]:
    """Return rows; `conditions` has SQL with one placeholder each, and the values.

    A condition whose value is None is left out.
    """
    wanted = {text: value for text, value in conditions.items() if value is not None}
    values = [organization_id, *wanted.values()]
    clauses = ["organization_id = %s", *wanted]
    if page.before is not None:
        clauses.append("(created_at, id) < (%s, %s)")
        values += [page.before.created_at, page.before.id]
    cursor = await connection.execute(
        f"""
        SELECT * FROM {table} WHERE {" AND ".join(clauses)}
        ORDER BY created_at DESC, id DESC LIMIT %s
        """,  # noqa: S608 - all text is literal
        [*values, page.limit],
    )
    return await cursor.fetchall()
