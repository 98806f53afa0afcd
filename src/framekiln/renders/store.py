"""The SQL of renders. Every read carries the organization; every write of a worker the fence."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection
from framekiln.jobs.failures import Failure
from framekiln.kit.content_version import ContentVersion
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.renders.model import (
    NewRender,
    Render,
    RenderOptions,
    RenderProgress,
    RenderResult,
    RenderStatus,
    SourceKind,
    states_before,
)
from framekiln.renders.output import output_as_json, output_from_json

Row = dict[str, Any]


async def insert(  # noqa: PLR0913 - one column each
    connection: Connection,
    render_id: RenderId,
    new: NewRender,
    *,
    organization_id: OrganizationId,
    api_key_id: ApiKeyId | None,
    source_key: str,
    now: datetime,
    data_key: str | None = None,
) -> Render | None:
    """Add a render in its first state; None when there is one with this id."""
    cursor = await connection.execute(
        """
        INSERT INTO render (id, organization_id, api_key_id, status, md5, metadata, source_key,
            source_kind, source_digest, is_bundle, asked_width_px, asked_height_px, asked_fps,
            asked_duration_ms, output, slice_ms, created_at, expires_at, request_warnings,
            data_key)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, 'created', %(md5)s, %(metadata)s,
            %(source_key)s, %(source_kind)s, %(source_digest)s, %(is_bundle)s, %(width_px)s,
            %(height_px)s, %(fps)s, %(duration_ms)s, %(output)s, %(slice_ms)s, %(now)s,
            %(expires_at)s, %(request_warnings)s, %(data_key)s)
        ON CONFLICT (id) DO NOTHING
        RETURNING *
        """,
        {
            "id": render_id,
            "organization_id": organization_id,
            "api_key_id": api_key_id,
            "md5": new.md5,
            "metadata": Jsonb(new.metadata),
            "source_key": source_key,
            "source_kind": new.source_kind,
            "source_digest": new.source_digest,
            "is_bundle": new.source_kind is SourceKind.BUNDLE,
            "output": Jsonb(output_as_json(new.output)),
            "slice_ms": new.slice_ms,
            "width_px": new.options.width_px,
            "height_px": new.options.height_px,
            "fps": str(new.options.fps) if new.options.fps else None,
            "duration_ms": new.options.duration_ms,
            "now": now,
            "expires_at": new.expires_at,
            "request_warnings": Jsonb(new.warnings),
            "data_key": data_key,
        },
    )
    row = await cursor.fetchone()
    return _render(row) if row else None


async def find(
    connection: Connection, organization_id: OrganizationId, render_id: RenderId
) -> Render | None:
    """Return a render of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM render WHERE id = %s AND organization_id = %s", (render_id, organization_id)
    )
    row = await cursor.fetchone()
    return _render(row) if row else None


async def find_all(
    connection: Connection, organization_id: OrganizationId, render_ids: Sequence[RenderId]
) -> dict[RenderId, Render]:
    """Return renders of the organization by id."""
    cursor = await connection.execute(
        "SELECT * FROM render WHERE id = ANY(%s) AND organization_id = %s",
        (list(render_ids), organization_id),
    )
    return {row["id"]: _render(row) for row in await cursor.fetchall()}


async def find_by_md5(
    connection: Connection, organization_id: OrganizationId, md5: str
) -> Render | None:
    """Return the newest render with that sum; dashes and case do not matter."""
    cursor = await connection.execute(
        """
        SELECT * FROM render
        WHERE organization_id = %s AND replace(lower(md5), '-', '') = replace(lower(%s), '-', '')
        ORDER BY created_at DESC LIMIT 1
        """,
        (organization_id, md5),
    )
    row = await cursor.fetchone()
    return _render(row) if row else None


async def delete(connection: Connection, render_id: RenderId) -> None:
    """Forget a render and its slices."""
    await connection.execute("DELETE FROM render WHERE id = %s", (render_id,))


async def delete_expired(connection: Connection, *, now: datetime, limit: int) -> list[Render]:
    """Forget renders that have expired and that nobody works on; return what they were."""
    cursor = await connection.execute(
        """
        DELETE FROM render WHERE id IN (
            SELECT id FROM render
            WHERE expires_at <= %s AND status IN ('created', 'complete', 'failed')
            ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED)
        RETURNING *
        """,
        (now, limit),
    )
    return [_render(row) for row in await cursor.fetchall()]


async def set_expiry(connection: Connection, render_id: RenderId, *, expires_at: datetime) -> None:
    """Have a render removed later."""
    await connection.execute(
        "UPDATE render SET expires_at = %s WHERE id = %s", (expires_at, render_id)
    )


async def set_queued(connection: Connection, render_id: RenderId) -> None:
    """The bundle has come."""
    await connection.execute(
        "UPDATE render SET status = 'queued' WHERE id = %s AND status = ANY(%s)",
        (render_id, states_before(RenderStatus.QUEUED)),
    )


async def find_by_id(connection: Connection, render_id: RenderId) -> Render | None:
    """Return a render of whatever organization: for workers, who were given its id."""
    cursor = await connection.execute("SELECT * FROM render WHERE id = %s", (render_id,))
    row = await cursor.fetchone()
    return _render(row) if row else None


async def lock(connection: Connection, render_id: RenderId) -> Render | None:
    """Return a render and keep all others from changing it until the transaction ends."""
    cursor = await connection.execute("SELECT * FROM render WHERE id = %s FOR UPDATE", (render_id,))
    row = await cursor.fetchone()
    return _render(row) if row else None


async def find_progress(connection: Connection, render_id: RenderId) -> RenderProgress | None:
    """Return how far a render is: whole slices, and frames of those being made.

    What has no slices is made in one go and counts thousandths.
    """
    cursor = await connection.execute(
        """
        SELECT status, error_code, error_message, record,
            coalesce((plan ->> 'frame_count')::integer, 1000) AS frame_count,
            CASE WHEN plan IS NULL THEN (SELECT coalesce(max(frames_done), 0)
                FROM render_slice_progress WHERE render_id = render.id AND number = -1)
            ELSE (SELECT coalesce(sum(CASE slice.status WHEN 'done' THEN slice.frame_count
                    WHEN 'taken' THEN coalesce(made.frames_done, 0) ELSE 0 END), 0)
                FROM render_slice slice LEFT JOIN render_slice_progress made USING
                    (render_id, number)
                WHERE slice.render_id = render.id)::integer END AS frames_done
        FROM render WHERE id = %s
        """,
        (render_id,),
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return RenderProgress(
        status=RenderStatus(row["status"]),
        frames_done=row["frames_done"],
        frame_count=row["frame_count"],
        failure=_failure(row),
    )


async def set_started(connection: Connection, render_id: RenderId, *, now: datetime) -> None:
    """A first worker has begun."""
    await connection.execute(
        """
        UPDATE render SET status = 'rendering', started_at = coalesce(started_at, %(now)s)
        WHERE id = %(id)s AND status = ANY(%(before)s)
        """,
        {"id": render_id, "now": now, "before": states_before(RenderStatus.RENDERING)},
    )


async def set_recovering(connection: Connection, render_id: RenderId) -> None:
    """A worker has died, another takes over."""
    await connection.execute(
        "UPDATE render SET status = 'recovering' WHERE id = %s AND status = ANY(%s)",
        (render_id, states_before(RenderStatus.RECOVERING)),
    )


async def set_recovered(connection: Connection, render_id: RenderId) -> None:
    """A render that was taken over makes frames again."""
    await connection.execute(
        "UPDATE render SET status = 'rendering' WHERE id = %s AND status = 'recovering'",
        (render_id,),
    )


async def set_plan(connection: Connection, render_id: RenderId, plan: Row) -> None:
    """Keep what the page said it is."""
    await connection.execute("UPDATE render SET plan = %s WHERE id = %s", (Jsonb(plan), render_id))


async def set_sound(
    connection: Connection, render_id: RenderId, blob_key: str | None, *, digest: str | None
) -> None:
    """Keep where the mixed sound is, and what it was made of; None if it has to be mixed again."""
    await connection.execute(
        "UPDATE render SET sound_key = %s, sound_digest = %s WHERE id = %s",
        (blob_key, digest, render_id),
    )


async def find_film(
    connection: Connection, render: Render, film_digest: str
) -> RenderResult | None:
    """Return the newest film of the organization that was made of the same things."""
    cursor = await connection.execute(
        """
        SELECT * FROM render
        WHERE organization_id = %s AND film_digest = %s AND status = 'complete' AND id <> %s
        ORDER BY completed_at DESC LIMIT 1
        """,
        (render.organization_id, film_digest, render.id),
    )
    row = await cursor.fetchone()
    return _made(row) if row else None


async def complete(
    connection: Connection,
    render_id: RenderId,
    made: RenderResult,
    *,
    now: datetime,
    film_digest: str | None = None,
) -> bool:
    """Record the output; False when the render has ended already."""
    cursor = await connection.execute(
        """
        UPDATE render SET status = 'complete', completed_at = %(now)s, width_px = %(width_px)s,
            height_px = %(height_px)s, fps = %(fps)s, duration_ms = %(duration_ms)s,
            output_key = %(output_key)s, byte_size = %(byte_size)s, record = %(record)s,
            film_digest = %(film_digest)s
        WHERE id = %(id)s AND status = ANY(%(before)s)
        """,
        {
            "id": render_id,
            "before": states_before(RenderStatus.COMPLETE),
            "now": now,
            "width_px": made.width_px,
            "height_px": made.height_px,
            "fps": str(made.fps),
            "duration_ms": made.duration_ms,
            "output_key": made.output_key,
            "byte_size": made.byte_size,
            "record": Jsonb(made.record),
            "film_digest": film_digest,
        },
    )
    return cursor.rowcount == 1


async def fail(
    connection: Connection, render_id: RenderId, failure: Failure, *, now: datetime
) -> bool:
    """Record why it failed; False when the render has ended already."""
    cursor = await connection.execute(
        """
        UPDATE render SET status = 'failed', failed_at = %(now)s, error_code = %(code)s,
            error_message = %(message)s, record = %(record)s
        WHERE id = %(id)s AND status = ANY(%(before)s)
        """,
        {
            "id": render_id,
            "before": states_before(RenderStatus.FAILED),
            "now": now,
            "code": failure.code,
            "message": failure.message,
            "record": Jsonb({"warnings": list(failure.warnings)}),
        },
    )
    return cursor.rowcount == 1


def _render(row: Row) -> Render:
    return Render(
        id=RenderId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        status=RenderStatus(row["status"]),
        source_key=row["source_key"],
        source_kind=SourceKind(row["source_kind"]),
        source_digest=row["source_digest"],
        is_bundle=row["is_bundle"],
        output=output_from_json(row["output"]),
        options=RenderOptions(
            width_px=row["asked_width_px"],
            height_px=row["asked_height_px"],
            fps=Fraction(row["asked_fps"]) if row["asked_fps"] else None,
            duration_ms=row["asked_duration_ms"],
        ),
        metadata=row["metadata"],
        md5=row["md5"],
        slice_ms=row["slice_ms"],
        plan=row["plan"],
        sound_key=row["sound_key"],
        result=_made(row),
        failure=_failure(row),
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        failed_at=row["failed_at"],
        expires_at=row["expires_at"],
        sound_digest=row["sound_digest"],
        request_warnings=tuple(row["request_warnings"]),
        data_key=row["data_key"],
    )


def _made(row: Row) -> RenderResult | None:
    if row["output_key"] is None:
        return None
    return RenderResult(
        width_px=row["width_px"],
        height_px=row["height_px"],
        fps=Fraction(row["fps"]),
        duration_ms=row["duration_ms"],
        output_key=row["output_key"],
        byte_size=row["byte_size"],
        record=row["record"],
    )


def _failure(row: Row) -> Failure | None:
    if row["error_code"] is None:
        return None
    warnings = (row["record"] or {}).get("warnings", ())
    return Failure(row["error_code"], row["error_message"], tuple(warnings))


async def find_source(
    connection: Connection, render_id: RenderId, url: str
) -> ContentVersion | None:
    """Return the version of a source that a render is made of, if it is known."""
    cursor = await connection.execute(
        "SELECT * FROM render_source WHERE render_id = %s AND url_sha256 = %s",
        (render_id, hashlib.sha256(url.encode()).digest()),
    )
    row = await cursor.fetchone()
    return ContentVersion(row["size_bytes"], row["etag"], row["modified"]) if row else None


async def record_source(
    connection: Connection, render_id: RenderId, url: str, version: ContentVersion
) -> None:
    """Record the version of a source; what was recorded before stays."""
    digest = hashlib.sha256(url.encode()).digest()
    await connection.execute(
        """
        INSERT INTO render_source (render_id, url_sha256, size_bytes, etag, modified)
        SELECT id, %s, %s, %s, %s FROM render WHERE id = %s
        ON CONFLICT (render_id, url_sha256) DO NOTHING
        """,
        (digest, version.size_bytes, version.etag, version.modified, render_id),
    )
