"""The SQL of playback: sources, and their segments."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId
from framekiln.media.segments.renditions import Outline
from framekiln.playback.model import (
    MadeSegment,
    PlaybackSource,
    SegmentName,
    SourceId,
    SourceStatus,
    SourceTracks,
)


async def find_newest(
    connection: Connection, organization_id: OrganizationId, address: str, *, now: datetime
) -> PlaybackSource | None:
    """Return the newest source of an address that has not expired, in any status."""
    cursor = await connection.execute(
        """
        SELECT * FROM playback_source
        WHERE organization_id = %s AND address_sha256 = %s AND address = %s
          AND (expires_at IS NULL OR expires_at > %s)
        ORDER BY created_at DESC LIMIT 1
        """,
        (organization_id, _digest(address), address, now),
    )
    row = await cursor.fetchone()
    return _source(row) if row else None


async def find(connection: Connection, source_id: SourceId) -> PlaybackSource | None:
    """Return a source by its id."""
    cursor = await connection.execute("SELECT * FROM playback_source WHERE id = %s", (source_id,))
    row = await cursor.fetchone()
    return _source(row) if row else None


async def lock_address(
    connection: Connection, organization_id: OrganizationId, address: str
) -> None:
    """Lock an address, so that only one transaction at a time adds a source for it."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
        (f"playback:{organization_id}:{address}",),
    )


async def insert(connection: Connection, source: PlaybackSource) -> None:
    """Insert a source that is to be probed."""
    await connection.execute(
        """
        INSERT INTO playback_source (id, organization_id, address, address_sha256, status,
            pictures_key, sound_key, created_at, changed_at, expires_at, used_at, checked_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        """,
        (
            source.id,
            source.organization_id,
            source.address,
            _digest(source.address),
            source.status,
            source.tracks.pictures_key,
            source.tracks.sound_key,
            source.created_at,
            source.changed_at,
            source.expires_at,
            source.used_at,
            source.created_at,
        ),
    )


async def set_tracks(
    connection: Connection,
    source_id: SourceId,
    tracks: SourceTracks,
    *,
    expires_at: datetime,
    now: datetime,
) -> PlaybackSource | None:
    """Record where the content of a source is stored; return None if it is no longer awaited."""
    cursor = await connection.execute(
        """
        UPDATE playback_source SET pictures_key = %s, sound_key = %s, expires_at = %s,
            changed_at = %s
        WHERE id = %s AND status = 'looking' RETURNING *
        """,
        (tracks.pictures_key, tracks.sound_key, expires_at, now, source_id),
    )
    row = await cursor.fetchone()
    return _source(row) if row else None


async def set_ready(
    connection: Connection,
    source_id: SourceId,
    outline: Outline,
    *,
    tracks: SourceTracks,
    now: datetime,
) -> bool:
    """Record the outline of a source; return False if it is no longer awaited."""
    cursor = await connection.execute(
        """
        UPDATE playback_source SET status = 'ready', outline = %s, pictures_key = %s,
            sound_key = %s, changed_at = %s
        WHERE id = %s AND status = 'looking'
        """,
        (
            Jsonb(outline.to_json()),
            tracks.pictures_key,
            tracks.sound_key,
            now,
            source_id,
        ),
    )
    return cursor.rowcount == 1


async def set_failed(
    connection: Connection, source_id: SourceId, failure: Mapping[str, Any], *, now: datetime
) -> None:
    """Record why a source cannot be played."""
    await connection.execute(
        """
        UPDATE playback_source SET status = 'failed', failure = %s, changed_at = %s
        WHERE id = %s AND status = 'looking'
        """,
        (Jsonb(dict(failure)), now, source_id),
    )


async def touch(connection: Connection, source_id: SourceId, *, now: datetime) -> None:
    """Note that a source is in use."""
    await connection.execute(
        "UPDATE playback_source SET used_at = %s WHERE id = %s", (now, source_id)
    )


async def find_segments(
    connection: Connection, source_id: SourceId, rendition_id: str, numbers: Sequence[int]
) -> list[MadeSegment]:
    """Return the existing records of the segments, made or failed."""
    cursor = await connection.execute(
        """
        SELECT number, made_at, failure FROM playback_segment
        WHERE source_id = %s AND rendition = %s AND number = ANY(%s)
        """,
        (source_id, rendition_id, list(numbers)),
    )
    return [MadeSegment(**row) for row in await cursor.fetchall()]


async def put_segment(
    connection: Connection,
    source_id: SourceId,
    name: SegmentName,
    *,
    failure: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    """Record that a segment is stored, or its error; a stored segment stays."""
    await connection.execute(
        """
        INSERT INTO playback_segment (source_id, rendition, number, made_at, failure)
        SELECT id, %s, %s, %s, %s FROM playback_source WHERE id = %s
        ON CONFLICT (source_id, rendition, number) DO UPDATE
        SET made_at = excluded.made_at, failure = excluded.failure
        WHERE playback_segment.failure IS NOT NULL
        """,
        (
            name.rendition_id,
            name.number,
            now,
            Jsonb(dict(failure)) if failure is not None else None,
            source_id,
        ),
    )


async def list_unused(
    connection: Connection, *, unused_since: datetime, expired_before: datetime, limit: int
) -> list[PlaybackSource]:
    """Return sources that have not been played for long, or whose content has expired."""
    cursor = await connection.execute(
        """
        SELECT * FROM playback_source WHERE used_at < %s OR expires_at < %s
        ORDER BY used_at LIMIT %s
        """,
        (unused_since, expired_before, limit),
    )
    return [_source(row) for row in await cursor.fetchall()]


async def take_unchecked(
    connection: Connection, *, checked_before: datetime, now: datetime, limit: int
) -> list[PlaybackSource]:
    """Return ready sources whose tracks were not checked lately, and mark them as checked."""
    cursor = await connection.execute(
        """
        UPDATE playback_source SET checked_at = %s WHERE id IN (
            SELECT id FROM playback_source WHERE checked_at < %s AND status = 'ready'
            ORDER BY checked_at LIMIT %s FOR UPDATE SKIP LOCKED)
        RETURNING *
        """,
        (now, checked_before, limit),
    )
    return [_source(row) for row in await cursor.fetchall()]


async def delete(connection: Connection, source_id: SourceId) -> None:
    """Delete a source and its segments."""
    await connection.execute("DELETE FROM playback_source WHERE id = %s", (source_id,))


def _digest(address: str) -> bytes:
    return hashlib.sha256(address.encode()).digest()


def _source(row: Mapping[str, Any]) -> PlaybackSource:
    return PlaybackSource(
        id=SourceId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        address=row["address"],
        status=SourceStatus(row["status"]),
        tracks=SourceTracks(row["pictures_key"], row["sound_key"]),
        outline=Outline.from_json(row["outline"]) if row["outline"] else None,
        failure=row["failure"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        expires_at=row["expires_at"],
        used_at=row["used_at"],
    )
