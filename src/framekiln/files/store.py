"""The SQL of files. Every read checks the organization; every write of a worker the fence."""

from datetime import datetime
from typing import Any

from framekiln.db.newest_rows import NewestPage, list_newest_rows
from framekiln.db.pool import Connection
from framekiln.files.model import (
    File,
    FileFacts,
    FileFilter,
    FileProgress,
    FileStatus,
    FileType,
    NewFile,
    normalize_md5,
    states_before,
)
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import ApiKeyId, FileId, OrganizationId

Row = dict[str, Any]


async def insert(
    connection: Connection,
    file_id: FileId,
    new: NewFile,
    *,
    organization_id: OrganizationId,
    api_key_id: ApiKeyId | None,
    now: datetime,
) -> File:
    """Add a file with its first status."""
    cursor = await connection.execute(
        """
        INSERT INTO file (id, organization_id, api_key_id, filename, type, status, md5, mime_type,
            byte_size, created_at, expires_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(filename)s, %(type)s, 'created',
            %(md5)s, %(mime_type)s, %(byte_size)s, %(now)s, %(expires_at)s)
        RETURNING *
        """,
        {
            "id": file_id,
            "organization_id": organization_id,
            "api_key_id": api_key_id,
            "filename": new.filename,
            "type": new.type,
            "md5": new.md5,
            "mime_type": new.mime_type,
            "byte_size": new.byte_size,
            "now": now,
            "expires_at": new.expires_at,
        },
    )
    row = await cursor.fetchone()
    assert row is not None
    return _file(row)


async def lock_md5(connection: Connection, organization_id: OrganizationId, md5: str) -> None:
    """Allow one registration with an MD5 at a time, until the transaction ends."""
    key = f"file:{organization_id}:{normalize_md5(md5)}"
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (key,))


async def find_duplicate(
    connection: Connection, organization_id: OrganizationId, new: NewFile, *, now: datetime
) -> File | None:
    """Return the newest file with the same content as `new`."""
    cursor = await connection.execute(
        """
        SELECT * FROM file
        WHERE organization_id = %(organization_id)s AND replace(lower(md5), '-', '') = %(md5)s
            AND type = %(type)s AND byte_size = %(byte_size)s
            AND expires_at IS NOT DISTINCT FROM %(expires_at)s
            AND status IN ('created', 'uploading', 'processing', 'ready')
            AND (expires_at IS NULL OR expires_at > %(now)s)
        ORDER BY created_at DESC LIMIT 1
        """,
        {
            "organization_id": organization_id,
            "md5": normalize_md5(new.md5 or ""),
            "type": new.type,
            "byte_size": new.byte_size,
            "expires_at": new.expires_at,
            "now": now,
        },
    )
    row = await cursor.fetchone()
    return _file(row) if row else None


async def find(
    connection: Connection, organization_id: OrganizationId, file_id: FileId
) -> File | None:
    """Return a file of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM file WHERE id = %s AND organization_id = %s", (file_id, organization_id)
    )
    row = await cursor.fetchone()
    return _file(row) if row else None


async def find_by_id(connection: Connection, file_id: FileId) -> File | None:
    """Return a file of any organization, for internal callers that have its id."""
    cursor = await connection.execute("SELECT * FROM file WHERE id = %s", (file_id,))
    row = await cursor.fetchone()
    return _file(row) if row else None


async def find_by_md5(
    connection: Connection, organization_id: OrganizationId, md5: str, *, now: datetime
) -> File | None:
    """Return the newest usable file with this MD5."""
    cursor = await connection.execute(
        """
        SELECT * FROM file
        WHERE organization_id = %s AND replace(lower(md5), '-', '') = %s AND status <> 'failed'
            AND (expires_at IS NULL OR expires_at > %s)
        ORDER BY created_at DESC LIMIT 1
        """,
        (organization_id, normalize_md5(md5), now),
    )
    row = await cursor.fetchone()
    return _file(row) if row else None


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    page: NewestPage,
    *,
    wanted: FileFilter,
) -> list[File]:
    """Return files of the organization, newest first."""
    rows = await list_newest_rows(
        connection,
        "file",
        organization_id,
        page=page,
        conditions={
            "status = %s": wanted.status,
            "type = %s": wanted.type,
            "strpos(lower(filename), lower(%s)) > 0": wanted.search,
        },
    )
    return [_file(row) for row in rows]


async def lock(
    connection: Connection, organization_id: OrganizationId, file_id: FileId
) -> File | None:
    """Return a file and lock its row until the transaction ends."""
    cursor = await connection.execute(
        "SELECT * FROM file WHERE id = %s AND organization_id = %s FOR UPDATE",
        (file_id, organization_id),
    )
    row = await cursor.fetchone()
    return _file(row) if row else None


async def advance(connection: Connection, file_id: FileId, *, next_byte: int) -> None:
    """Record that more of its content is stored; the caller holds the row lock."""
    await connection.execute(
        "UPDATE file SET next_byte = %s WHERE id = %s AND next_byte < %s",
        (next_byte, file_id, next_byte),
    )


async def set_uploading(connection: Connection, file_id: FileId) -> None:
    """Record that the first bytes of the file or of a track are stored."""
    await connection.execute(
        "UPDATE file SET status = 'uploading' WHERE id = %s AND status = ANY(%s)",
        (file_id, states_before(FileStatus.UPLOADING)),
    )


async def set_processing(connection: Connection, file_id: FileId) -> bool:
    """Record that all bytes are stored; False when that was already known."""
    cursor = await connection.execute(
        "UPDATE file SET status = 'processing' WHERE id = %s AND status = ANY(%s)",
        (file_id, states_before(FileStatus.PROCESSING)),
    )
    return cursor.rowcount == 1


async def take(connection: Connection, file_id: FileId) -> tuple[File, int] | None:
    """Take a file that waits for processing; return it and the worker's fence."""
    cursor = await connection.execute(
        "UPDATE file SET fence = fence + 1 WHERE id = %s AND status = 'processing' RETURNING *",
        (file_id,),
    )
    row = await cursor.fetchone()
    return (_file(row), row["fence"]) if row else None


async def is_taken(connection: Connection, file_id: FileId, *, fence: int) -> bool:
    """Return whether the worker with this fence still has the file."""
    cursor = await connection.execute(
        "SELECT FROM file WHERE id = %s AND status = 'processing' AND fence = %s", (file_id, fence)
    )
    return await cursor.fetchone() is not None


async def set_ready(
    connection: Connection,
    file_id: FileId,
    facts: FileFacts,
    *,
    has_source: bool,
    now: datetime,
    fence: int | None = None,
) -> bool:
    """Record the facts of the content; False when the file was taken over, has ended or expired.

    With a fence it was processed, and the index was made from the content.
    """
    cursor = await connection.execute(
        """
        UPDATE file SET status = 'ready', completed_at = %(now)s, media_type = %(media_type)s,
            width_px = %(width_px)s, height_px = %(height_px)s, duration_ms = %(duration_ms)s,
            has_source = has_source OR %(has_source)s, next_byte = coalesce(byte_size, next_byte),
            error_code = NULL, error_message = NULL, failed_at = NULL,
            uploaded_index_key = CASE WHEN %(fence)s::integer IS NULL THEN uploaded_index_key END
        WHERE id = %(id)s AND status = ANY(%(before)s)
            AND (expires_at IS NULL OR expires_at > %(now)s)
            AND (%(fence)s::integer IS NULL OR (fence = %(fence)s AND status = 'processing'))
        """,
        {
            "id": file_id,
            "before": states_before(FileStatus.READY),
            "now": now,
            "media_type": facts.media_type,
            "width_px": facts.width_px,
            "height_px": facts.height_px,
            "duration_ms": facts.duration_ms,
            "has_source": has_source,
            "fence": fence,
        },
    )
    return cursor.rowcount == 1


async def fail(connection: Connection, file_id: FileId, failure: Failure, *, now: datetime) -> bool:
    """Record why it failed; False when the file has already ended."""
    cursor = await connection.execute(
        """
        UPDATE file SET status = 'failed', failed_at = %(now)s, error_code = %(code)s,
            error_message = %(message)s
        WHERE id = %(id)s AND status = ANY(%(before)s)
        """,
        {
            "id": file_id,
            "before": states_before(FileStatus.FAILED),
            "now": now,
            "code": failure.code,
            "message": failure.message,
        },
    )
    return cursor.rowcount == 1


async def delete(connection: Connection, organization_id: OrganizationId, file_id: FileId) -> bool:
    """Delete a file, its tracks and its parts; False when it does not exist."""
    cursor = await connection.execute(
        "DELETE FROM file WHERE id = %s AND organization_id = %s", (file_id, organization_id)
    )
    return cursor.rowcount == 1


async def list_expired(connection: Connection, *, now: datetime, limit: int) -> list[File]:
    """Return expired files whose content may still be stored."""
    cursor = await connection.execute(
        """
        SELECT * FROM file WHERE expires_at <= %s AND content_removed_at IS NULL
        ORDER BY expires_at LIMIT %s
        """,
        (now, limit),
    )
    return [_file(row) for row in await cursor.fetchall()]


async def set_content_removed(connection: Connection, file_id: FileId, *, now: datetime) -> None:
    """Record that the content of an expired file is deleted."""
    await connection.execute(
        "UPDATE file SET content_removed_at = %s WHERE id = %s AND content_removed_at IS NULL",
        (now, file_id),
    )


async def delete_expired_before(connection: Connection, instant: datetime, *, limit: int) -> int:
    """Delete files that expired before `instant` and have no content left; return how many."""
    cursor = await connection.execute(
        """
        DELETE FROM file WHERE id IN (
            SELECT id FROM file WHERE expires_at <= %s AND content_removed_at IS NOT NULL
            ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED)
        """,
        (instant, limit),
    )
    return cursor.rowcount


async def find_progress(connection: Connection, file_id: FileId) -> FileProgress | None:
    """Return the progress of a file."""
    cursor = await connection.execute(
        """
        SELECT status, error_code, error_message, coalesce(permille, 0) AS permille
        FROM file LEFT JOIN file_progress ON file_id = id WHERE id = %s
        """,
        (file_id,),
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return FileProgress(FileStatus(row["status"]), row["permille"], _failure(row))


async def set_progress(connection: Connection, file_id: FileId, *, permille: int) -> None:
    """Record the progress of the processing; a deleted file is ignored."""
    await connection.execute(
        """
        INSERT INTO file_progress (file_id, permille)
        SELECT id, %(permille)s FROM file WHERE id = %(id)s
        ON CONFLICT (file_id) DO UPDATE SET permille = %(permille)s
        """,
        {"id": file_id, "permille": permille},
    )


def _file(row: Row) -> File:
    return File(
        id=FileId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        filename=row["filename"],
        type=FileType(row["type"]),
        status=FileStatus(row["status"]),
        byte_size=row["byte_size"],
        md5=row["md5"],
        mime_type=row["mime_type"],
        media_type=row["media_type"],
        next_byte=row["next_byte"],
        has_source=row["has_source"],
        width_px=row["width_px"],
        height_px=row["height_px"],
        duration_ms=row["duration_ms"],
        failure=_failure(row),
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        failed_at=row["failed_at"],
        expires_at=row["expires_at"],
        content_removed_at=row["content_removed_at"],
        uploaded_index_key=row["uploaded_index_key"],
    )


def _failure(row: Row) -> Failure | None:
    if row["error_code"] is None:
        return None
    return Failure(code=row["error_code"], message=row["error_message"])


async def find_by_type_and_md5(
    connection: Connection,
    organization_id: OrganizationId,
    md5: str,
    *,
    file_type: FileType,
    with_size: bool,
    now: datetime,
) -> FileId | None:
    """Return the best file of a type with this MD5: one that is ready, else the newest.

    `with_size` skips files that are uploaded only as tracks.
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
            "md5": normalize_md5(md5),
            "type": file_type,
            "with_size": with_size,
            "now": now,
        },
    )
    row = await cursor.fetchone()
    return FileId(row["id"]) if row else None
