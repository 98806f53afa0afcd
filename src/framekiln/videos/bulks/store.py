"""The SQL of bulks. Reads for owners check the organization."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Json as JsonText

from framekiln.db.notify import notify
from framekiln.db.pool import Connection
from framekiln.identity.model import Caller
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.videos.bulks.model import (
    Bulk,
    BulkRow,
    BulkStatus,
    CountedBulk,
    NewBulk,
    RowStatus,
)
from framekiln.videos.pagination import PageNumberRequest
from framekiln.videos.public_ids import BulkId, TemplateId, VideoId

Row = dict[str, Any]

# Nothing else runs in the api while the statements are written.
_INSERTED_AT_A_TIME: Final = 500


@dataclass(frozen=True)
class CancelledBulk:
    """A bulk that was cancelled, and its videos that are being rendered."""

    bulk: Bulk
    under_way: tuple[VideoId, ...]


async def lock_organization(connection: Connection, organization_id: OrganizationId) -> None:
    """Let one bulk of an organization at a time be created, until the transaction ends."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"bulk:{organization_id}",)
    )


async def try_lock(connection: Connection, bulk_id: BulkId) -> bool:
    """Let one worker at a time start rows of a bulk; False when another does."""
    cursor = await connection.execute(
        "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0)) AS is_locked",
        (f"bulk-rows:{bulk_id}",),
    )
    row = await cursor.fetchone()
    return row is not None and bool(row["is_locked"])


async def insert(
    connection: Connection, bulk_id: BulkId, new: NewBulk, *, caller: Caller, now: datetime
) -> Bulk | None:
    """Add a bulk with its rows; None if the id is taken."""
    cursor = await connection.execute(
        """
        INSERT INTO bulk (id, organization_id, api_key_id, template_id, template_version, status,
            row_count, idempotency_key, request_digest, created_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(template_id)s,
            %(template_version)s, %(status)s, %(row_count)s, %(idempotency_key)s,
            %(request_digest)s, %(now)s)
        ON CONFLICT (id) DO NOTHING
        RETURNING *
        """,
        {
            "id": bulk_id,
            "organization_id": caller.organization.id,
            "api_key_id": caller.api_key_id,
            "template_id": new.template_id,
            "template_version": new.template_version,
            "status": BulkStatus.RUNNING,
            "row_count": len(new.rows),
            "idempotency_key": new.idempotency_key,
            "request_digest": new.request_digest,
            "now": now,
        },
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    for first in range(0, len(new.rows), _INSERTED_AT_A_TIME):
        await _insert_rows(connection, bulk_id, new, range(first, first + _INSERTED_AT_A_TIME))
    return _bulk(row)


async def _insert_rows(
    connection: Connection, bulk_id: BulkId, new: NewBulk, numbers: range
) -> None:
    async with connection.cursor() as cursor:
        await cursor.executemany(
            "INSERT INTO bulk_row (bulk_id, number, data) VALUES (%s, %s, %s)",
            [
                (bulk_id, number, JsonText(data))
                for number, data in enumerate(new.rows[numbers.start : numbers.stop], numbers[1])
            ],
        )


async def announce_change(connection: Connection, organization_id: OrganizationId) -> None:
    """Wake the pages that show bulks of an organization when the transaction commits."""
    await notify(connection, f"organization:{organization_id}:bulk")


async def find(
    connection: Connection, organization_id: OrganizationId, bulk_id: BulkId
) -> Bulk | None:
    """Return a bulk of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM bulk WHERE id = %s AND organization_id = %s", (bulk_id, organization_id)
    )
    row = await cursor.fetchone()
    return _bulk(row) if row else None


async def list_page(
    connection: Connection, organization_id: OrganizationId, page_request: PageNumberRequest
) -> list[CountedBulk]:
    """Return the bulks of a page, newest first."""
    cursor = await connection.execute(
        """
        SELECT * FROM bulk WHERE organization_id = %s
        ORDER BY created_at DESC, id LIMIT %s OFFSET %s
        """,
        (organization_id, page_request.per_page, page_request.offset),
    )
    bulks = [_bulk(row) for row in await cursor.fetchall()]
    counts = await _count_rows_of(connection, [bulk.id for bulk in bulks])
    return [CountedBulk(bulk, counts[bulk.id]) for bulk in bulks]


async def count(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of bulks of the organization."""
    cursor = await connection.execute(
        "SELECT count(*) AS n FROM bulk WHERE organization_id = %s", (organization_id,)
    )
    row = await cursor.fetchone()
    return int(row["n"]) if row else 0


async def find_by_key(
    connection: Connection, organization_id: OrganizationId, key: str
) -> Bulk | None:
    """Return the bulk that was created with an idempotency key."""
    cursor = await connection.execute(
        "SELECT * FROM bulk WHERE organization_id = %s AND idempotency_key = %s",
        (organization_id, key),
    )
    row = await cursor.fetchone()
    return _bulk(row) if row else None


async def count_running(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of running bulks of an organization."""
    cursor = await connection.execute(
        "SELECT count(*) AS n FROM bulk WHERE organization_id = %s AND status = 'running'",
        (organization_id,),
    )
    row = await cursor.fetchone()
    return int(row["n"]) if row else 0


async def list_running(connection: Connection) -> list[Bulk]:
    """Return the running bulks of all organizations."""
    cursor = await connection.execute("SELECT * FROM bulk WHERE status = 'running'")
    return [_bulk(row) for row in await cursor.fetchall()]


async def count_rows(connection: Connection, bulk_id: BulkId) -> Mapping[RowStatus, int]:
    """Return the number of rows by status."""
    return (await _count_rows_of(connection, [bulk_id]))[bulk_id]


async def _count_rows_of(
    connection: Connection, bulk_ids: Sequence[BulkId]
) -> dict[BulkId, dict[RowStatus, int]]:
    counts = {bulk_id: dict.fromkeys(RowStatus, 0) for bulk_id in bulk_ids}
    cursor = await connection.execute(
        """
        SELECT bulk_id, status, count(*) AS n FROM bulk_row WHERE bulk_id = ANY(%s)
        GROUP BY bulk_id, status
        """,
        (list(bulk_ids),),
    )
    for row in await cursor.fetchall():
        counts[BulkId(row["bulk_id"])][RowStatus(row["status"])] = int(row["n"])
    return counts


async def list_rows(
    connection: Connection, bulk_id: BulkId, *, after: int, limit: int
) -> Sequence[BulkRow]:
    """Return rows in order, those after a number."""
    cursor = await connection.execute(
        "SELECT * FROM bulk_row WHERE bulk_id = %s AND number > %s ORDER BY number LIMIT %s",
        (bulk_id, after, limit),
    )
    return [_row(row) for row in await cursor.fetchall()]


async def list_with_status(
    connection: Connection, bulk_id: BulkId, status: RowStatus, *, limit: int
) -> Sequence[BulkRow]:
    """Return the first rows with a status."""
    cursor = await connection.execute(
        """
        SELECT * FROM bulk_row WHERE bulk_id = %s AND status = %s ORDER BY number LIMIT %s
        """,
        (bulk_id, status, limit),
    )
    return [_row(row) for row in await cursor.fetchall()]


async def start_row(
    connection: Connection, bulk_id: BulkId, number: int, *, video_id: VideoId, status: RowStatus
) -> bool:
    """Give a waiting row its video; False if it waits no more."""
    cursor = await connection.execute(
        """
        UPDATE bulk_row SET status = %s, video_id = %s
        WHERE bulk_id = %s AND number = %s AND status = 'waiting'
        """,
        (status, video_id, bulk_id, number),
    )
    return cursor.rowcount == 1


async def fail_row(connection: Connection, bulk_id: BulkId, number: int, failure: Failure) -> None:
    """Record why a waiting row has no video."""
    await connection.execute(
        """
        UPDATE bulk_row SET status = 'failed', error_code = %s, error_message = %s
        WHERE bulk_id = %s AND number = %s AND status = 'waiting'
        """,
        (failure.code, failure.message, bulk_id, number),
    )


async def end_rows_of_render(
    connection: Connection, render_id: RenderId, status: RowStatus, failure: Failure | None
) -> list[BulkId]:
    """Record how the rows that use a render have ended; return their bulks."""
    cursor = await connection.execute(
        """
        UPDATE bulk_row SET status = %s, error_code = %s, error_message = %s
        FROM video
        WHERE video.id = bulk_row.video_id AND video.render_id = %s
            AND bulk_row.status = 'processing'
        RETURNING bulk_id
        """,
        (
            status,
            failure.code if failure else None,
            failure.message if failure else None,
            render_id,
        ),
    )
    return sorted({BulkId(row["bulk_id"]) for row in await cursor.fetchall()})


async def fail_deleted_rows(connection: Connection, bulk_id: BulkId, failure: Failure) -> bool:
    """Fail the rows whose video was deleted while it was rendered; False if there are none."""
    cursor = await connection.execute(
        """
        UPDATE bulk_row SET status = 'failed', error_code = %s, error_message = %s
        WHERE bulk_id = %s AND status = 'processing' AND video_id IS NULL
        """,
        (failure.code, failure.message, bulk_id),
    )
    return cursor.rowcount > 0


async def cancel(connection: Connection, bulk_id: BulkId, *, now: datetime) -> CancelledBulk | None:
    """Cancel a running bulk and its rows; None if it is not running."""
    cursor = await connection.execute(
        """
        UPDATE bulk SET status = 'cancelled', ended_at = %s
        WHERE id = %s AND status = 'running' RETURNING *
        """,
        (now, bulk_id),
    )
    cancelled = await cursor.fetchone()
    if cancelled is None:
        return None
    cursor = await connection.execute(
        """
        UPDATE bulk_row SET status = 'cancelled'
        WHERE bulk_id = %s AND status IN ('waiting', 'processing')
        RETURNING video_id
        """,
        (bulk_id,),
    )
    videos = [row["video_id"] for row in await cursor.fetchall() if row["video_id"]]
    return CancelledBulk(_bulk(cancelled), tuple(map(VideoId, videos)))


async def complete(connection: Connection, bulk_id: BulkId, *, now: datetime) -> Bulk | None:
    """End a running bulk if all of its rows have ended; None otherwise."""
    cursor = await connection.execute(
        """
        UPDATE bulk SET status = 'complete', ended_at = %s
        WHERE id = %s AND status = 'running' AND NOT EXISTS (
            SELECT FROM bulk_row
            WHERE bulk_id = bulk.id AND bulk_row.status IN ('waiting', 'processing')
        )
        RETURNING *
        """,
        (now, bulk_id),
    )
    row = await cursor.fetchone()
    return _bulk(row) if row else None


def _bulk(row: Row) -> Bulk:
    return Bulk(
        id=BulkId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        template_id=TemplateId(row["template_id"]),
        template_version=row["template_version"],
        status=BulkStatus(row["status"]),
        row_count=row["row_count"],
        request_digest=row["request_digest"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
    )


def _row(row: Row) -> BulkRow:
    return BulkRow(
        number=row["number"],
        data=row["data"],
        status=RowStatus(row["status"]),
        video_id=VideoId(row["video_id"]) if row["video_id"] else None,
        error_code=row["error_code"],
        error_message=row["error_message"],
    )
