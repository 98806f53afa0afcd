"""The SQL of tracks and waiting indexes. Callers that write must lock the file's row."""

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection
from framekiln.files.model import FileFacts, NewTrack, Track, WaitingIndex
from framekiln.kit.ids import FileId


async def list_all(connection: Connection, file_id: FileId) -> list[Track]:
    """Return the tracks of a file, by number; the scrub track comes last."""
    cursor = await connection.execute(
        "SELECT * FROM file_track WHERE file_id = %s ORDER BY track_id < 0, track_id", (file_id,)
    )
    return [_track(row) for row in await cursor.fetchall()]


async def find(connection: Connection, file_id: FileId, track_id: int) -> Track | None:
    """Return one track."""
    cursor = await connection.execute(
        "SELECT * FROM file_track WHERE file_id = %s AND track_id = %s", (file_id, track_id)
    )
    row = await cursor.fetchone()
    return _track(row) if row else None


async def put(connection: Connection, file_id: FileId, new: NewTrack) -> Track:
    """Add an empty track, or reset an existing one."""
    cursor = await connection.execute(
        """
        INSERT INTO file_track (file_id, track_id, type, codec_name, duration_ms, byte_size,
            probe_info)
        VALUES (%(file_id)s, %(track_id)s, %(type)s, %(codec_name)s, %(duration_ms)s,
            %(byte_size)s, %(probe_info)s)
        ON CONFLICT (file_id, track_id) DO UPDATE SET type = %(type)s,
            codec_name = %(codec_name)s, duration_ms = %(duration_ms)s,
            byte_size = %(byte_size)s, probe_info = %(probe_info)s, next_byte = 0,
            is_complete = false
        RETURNING *
        """,
        {**_columns(new), "file_id": file_id},
    )
    row = await cursor.fetchone()
    assert row is not None
    return _track(row)


async def replace_all(connection: Connection, file_id: FileId, tracks: Sequence[NewTrack]) -> None:
    """Replace the tracks of a file with these complete ones."""
    await connection.execute("DELETE FROM file_track WHERE file_id = %s", (file_id,))
    async with connection.cursor() as cursor:
        await cursor.executemany(
            """
            INSERT INTO file_track (file_id, track_id, type, codec_name, duration_ms, byte_size,
                next_byte, is_complete, probe_info)
            VALUES (%(file_id)s, %(track_id)s, %(type)s, %(codec_name)s, %(duration_ms)s,
                %(byte_size)s, %(byte_size)s, true, %(probe_info)s)
            """,
            [{**_columns(track), "file_id": file_id} for track in tracks],
        )


async def advance(
    connection: Connection, file_id: FileId, track_id: int, *, next_byte: int
) -> None:
    """Record that more of a track is stored."""
    await connection.execute(
        """
        UPDATE file_track SET next_byte = %s
        WHERE file_id = %s AND track_id = %s AND next_byte < %s
        """,
        (next_byte, file_id, track_id, next_byte),
    )


async def set_complete(connection: Connection, file_id: FileId, track_id: int) -> bool:
    """Record that a track is stored as one blob; False when that was already known."""
    cursor = await connection.execute(
        """
        UPDATE file_track SET is_complete = true
        WHERE file_id = %s AND track_id = %s AND next_byte = byte_size AND NOT is_complete
        """,
        (file_id, track_id),
    )
    return cursor.rowcount == 1


async def put_waiting_index(connection: Connection, file_id: FileId, index: WaitingIndex) -> None:
    """Store what an index needs of missing tracks; it replaces an earlier one."""
    await connection.execute(
        """
        INSERT INTO file_waiting_index (file_id, needs, media_type, width_px, height_px,
            duration_ms)
        VALUES (%(file_id)s, %(needs)s, %(media_type)s, %(width_px)s, %(height_px)s,
            %(duration_ms)s)
        ON CONFLICT (file_id) DO UPDATE SET needs = %(needs)s, media_type = %(media_type)s,
            width_px = %(width_px)s, height_px = %(height_px)s, duration_ms = %(duration_ms)s
        """,
        {
            **vars(index.facts),
            "file_id": file_id,
            "needs": Jsonb({str(track_id): size for track_id, size in index.needs.items()}),
        },
    )


async def set_uploaded_index(connection: Connection, file_id: FileId, key: str) -> None:
    """Record the key of an uploaded index."""
    await connection.execute(
        "UPDATE file SET uploaded_index_key = %s WHERE id = %s", (key, file_id)
    )


async def find_waiting_index(connection: Connection, file_id: FileId) -> WaitingIndex | None:
    """Return the waiting index of a file."""
    cursor = await connection.execute(
        "SELECT * FROM file_waiting_index WHERE file_id = %s", (file_id,)
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    facts = FileFacts(row["media_type"], row["width_px"], row["height_px"], row["duration_ms"])
    return WaitingIndex(facts, {int(key): value for key, value in row["needs"].items()})


async def delete_waiting_index(connection: Connection, file_id: FileId) -> None:
    """Delete the waiting index of a file."""
    await connection.execute("DELETE FROM file_waiting_index WHERE file_id = %s", (file_id,))


def _columns(new: NewTrack) -> dict[str, Any]:
    return {
        "track_id": new.track_id,
        "type": new.type,
        "codec_name": new.codec_name,
        "duration_ms": new.duration_ms,
        "byte_size": new.byte_size,
        "probe_info": Jsonb(new.probe_info),
    }


def _track(row: dict[str, Any]) -> Track:
    return Track(
        file_id=FileId(row["file_id"]),
        track_id=row["track_id"],
        type=row["type"],
        codec_name=row["codec_name"],
        duration_ms=row["duration_ms"],
        byte_size=row["byte_size"],
        next_byte=row["next_byte"],
        is_complete=row["is_complete"],
        probe_info=row["probe_info"],
    )
