"""The SQL of streamed uploads. Callers that change them must hold the lock of the file's row."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from framekiln.db.pool import Connection
from framekiln.files.model import FileStatus, states_before
from framekiln.files.streams.model import NewStreamTrack, StreamedFragment, StreamTrack
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.isobmff.track_init import TrackInit


async def begin(
    connection: Connection, file_id: FileId, tracks: Sequence[NewStreamTrack], *, now: datetime
) -> None:
    """Start a stream with these tracks for a file that was just registered."""
    await connection.execute(
        "UPDATE file SET status = 'receiving' WHERE id = %s AND status = ANY(%s)",
        (file_id, states_before(FileStatus.RECEIVING)),
    )
    async with connection.cursor() as cursor:
        await cursor.executemany(
            """
            INSERT INTO file_stream_track (file_id, track_id, type, last_at)
            VALUES (%s, %s, %s, %s)
            """,
            [(file_id, track.track_id, track.type, now) for track in tracks],
        )


async def list_tracks(connection: Connection, file_id: FileId) -> list[StreamTrack]:
    """Return the tracks of a stream, by number; other files have none."""
    cursor = await connection.execute(
        "SELECT * FROM file_stream_track WHERE file_id = %s ORDER BY track_id", (file_id,)
    )
    return [_track(row) for row in await cursor.fetchall()]


async def find_track(connection: Connection, file_id: FileId, track_id: int) -> StreamTrack | None:
    """Return one track of a stream."""
    cursor = await connection.execute(
        "SELECT * FROM file_stream_track WHERE file_id = %s AND track_id = %s", (file_id, track_id)
    )
    row = await cursor.fetchone()
    return _track(row) if row else None


async def set_init(
    connection: Connection, track: StreamTrack, data: bytes, *, facts: TrackInit, now: datetime
) -> None:
    """Store the init segment of a track that has none; `track` has its digest."""
    await connection.execute(
        """
        UPDATE file_stream_track SET init = %(init)s, codec = %(codec)s,
            timescale = %(timescale)s, byte_size = %(byte_size)s, sha256 = %(sha256)s,
            last_at = %(now)s
        WHERE file_id = %(file_id)s AND track_id = %(track_id)s AND init IS NULL
        """,
        {
            "init": data,
            "codec": facts.codec,
            "timescale": facts.timescale,
            "byte_size": len(data),
            "sha256": track.sha256,
            "now": now,
            "file_id": track.file_id,
            "track_id": track.track_id,
        },
    )


async def add_fragment(
    connection: Connection,
    track: StreamTrack,
    fragment: StreamedFragment,
    *,
    chain: bytes,
    now: datetime,
) -> None:
    """Add a fragment that follows the last one of its track."""
    await connection.execute(
        """
        INSERT INTO file_fragment (file_id, track_id, number, sha256, first_byte, byte_size, dts,
            duration, start_ms, end_ms, blob_key)
        VALUES (%(file_id)s, %(track_id)s, %(number)s, %(sha256)s, %(first_byte)s, %(byte_size)s,
            %(dts)s, %(duration)s, %(start_ms)s, %(end_ms)s, %(blob_key)s)
        """,
        {**vars(fragment), "file_id": track.file_id},
    )
    await connection.execute(
        """
        UPDATE file_stream_track SET fragment_count = %(number)s + 1,
            byte_size = byte_size + %(byte_size)s, sha256 = %(chain)s, end_dts = %(end_dts)s,
            end_ms = %(end_ms)s, last_at = %(now)s
        WHERE file_id = %(file_id)s AND track_id = %(track_id)s
        """,
        {
            "number": fragment.number,
            "byte_size": fragment.byte_size,
            "chain": chain,
            "end_dts": fragment.dts + fragment.duration,
            "end_ms": fragment.end_ms,
            "now": now,
            "file_id": track.file_id,
            "track_id": track.track_id,
        },
    )


async def find_fragment(
    connection: Connection, file_id: FileId, track_id: int, *, number: int
) -> StreamedFragment | None:
    """Return one received fragment."""
    cursor = await connection.execute(
        "SELECT * FROM file_fragment WHERE file_id = %s AND track_id = %s AND number = %s",
        (file_id, track_id, number),
    )
    row = await cursor.fetchone()
    return _fragment(row) if row else None


async def list_fragments(connection: Connection, file_id: FileId) -> list[StreamedFragment]:
    """Return all received fragments, by track and number."""
    cursor = await connection.execute(
        "SELECT * FROM file_fragment WHERE file_id = %s ORDER BY track_id, number", (file_id,)
    )
    return [_fragment(row) for row in await cursor.fetchall()]


async def list_fragments_between(
    connection: Connection, file_id: FileId, *, from_ms: int, to_ms: int
) -> list[StreamedFragment]:
    """Return the fragments of all tracks that overlap a span, in the order of time."""
    cursor = await connection.execute(
        """
        SELECT * FROM file_fragment WHERE file_id = %s AND start_ms < %s AND end_ms > %s
        ORDER BY start_ms, track_id, number
        """,
        (file_id, to_ms, from_ms),
    )
    return [_fragment(row) for row in await cursor.fetchall()]


async def count_bytes(connection: Connection, file_id: FileId) -> int:
    """Return the received bytes of a stream."""
    cursor = await connection.execute(
        "SELECT coalesce(sum(byte_size), 0) AS n FROM file_stream_track WHERE file_id = %s",
        (file_id,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def set_extent(
    connection: Connection, file_id: FileId, *, byte_size: int, duration_ms: int
) -> None:
    """Record the size and duration of a sealed stream."""
    await connection.execute(
        """
        UPDATE file SET byte_size = %(size)s, next_byte = %(size)s, duration_ms = %(duration_ms)s
        WHERE id = %(id)s AND status = 'receiving'
        """,
        {"id": file_id, "size": byte_size, "duration_ms": duration_ms},
    )


async def list_abandoned(
    connection: Connection, *, since: datetime, limit: int
) -> list[tuple[OrganizationId, FileId]]:
    """Return streams that are not sealed and have received nothing since then."""
    cursor = await connection.execute(
        """
        SELECT organization_id, id FROM file
        WHERE status = 'receiving' AND created_at < %(since)s AND NOT EXISTS (
            SELECT FROM file_stream_track WHERE file_id = id AND last_at >= %(since)s)
        ORDER BY created_at LIMIT %(limit)s
        """,
        {"since": since, "limit": limit},
    )
    rows = await cursor.fetchall()
    return [(OrganizationId(row["organization_id"]), FileId(row["id"])) for row in rows]


async def is_abandoned(connection: Connection, file_id: FileId, *, since: datetime) -> bool:
    """Return whether a stream is still abandoned; the caller holds the row lock."""
    cursor = await connection.execute(
        """
        SELECT FROM file WHERE id = %(id)s AND status = 'receiving' AND NOT EXISTS (
            SELECT FROM file_stream_track WHERE file_id = %(id)s AND last_at >= %(since)s)
        """,
        {"id": file_id, "since": since},
    )
    return await cursor.fetchone() is not None


def _track(row: dict[str, Any]) -> StreamTrack:
    return StreamTrack(
        file_id=FileId(row["file_id"]),
        track_id=row["track_id"],
        type=row["type"],
        init=row["init"],
        codec=row["codec"],
        timescale=row["timescale"],
        fragment_count=row["fragment_count"],
        byte_size=row["byte_size"],
        sha256=row["sha256"],
        end_dts=row["end_dts"],
        end_ms=row["end_ms"],
    )


def _fragment(row: dict[str, Any]) -> StreamedFragment:
    return StreamedFragment(**{name: row[name] for name in StreamedFragment.__dataclass_fields__})
