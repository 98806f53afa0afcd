"""The SQL that finds files of one type."""

from datetime import datetime

from framekiln.db.pool import Connection
from framekiln.files.model import FileType, plain_md5
from framekiln.kit.ids import FileId, OrganizationId


async def find_by_md5(
    connection: Connection,
    organization_id: OrganizationId,
    md5: str,
    *,
    file_type: FileType,
    with_size: bool,
    now: datetime,
) -> FileId | None:
    """Return the best file of a type with that sum: one that is ready, else the newest.

    `with_size` leaves out those of which only tracks are uploaded.
    """
    cursor = await connection.execute(
        """
        SELECT id FROM file
        WHERE organization_id = %(organization_id)s AND replace(lower(md5), '-', '') = %(md5)s
            AND type = %(type)s AND status <> 'failed'
            AND (expires_at IS NULL OR expires_at > %(now)s)
            AND (byte_size IS NOT NULL OR NOT %(with_size)s)
        ORDER BY status = 'ready' DESC, created_at DESC LIMIT 1
        """,
        {
            "organization_id": organization_id,
            "md5": plain_md5(md5),
            "type": file_type,
            "with_size": with_size,
            "now": now,
        },
    )
    row = await cursor.fetchone()
    return FileId(row["id"]) if row else None
