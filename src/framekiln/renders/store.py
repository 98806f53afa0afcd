"""The SQL of renders. Every read carries the organization; every write of a worker the fence."""

from datetime import datetime
from fractions import Fraction
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.renders.model import (
    Asked,
    Failure,
    Made,
    NewRender,
    Progress,
    Render,
    RenderStatus,
    before,
)

Row = dict[str, Any]


async def insert(  # noqa: PLR0913 - one column each
    connection: Connection,
    render_id: RenderId,
    new: NewRender,
    *,
    organization_id: OrganizationId,
    api_key_id: ApiKeyId,
    source_key: str,
    now: datetime,
) -> Render:
    """Add a render in its first state."""
    cursor = await connection.execute(
        """
        INSERT INTO render (id, organization_id, api_key_id, status, md5, metadata, source_key,
            asked_width_px, asked_height_px, asked_fps, asked_duration_ms, created_at, expires_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, 'created', %(md5)s, %(metadata)s,
            %(source_key)s, %(width_px)s, %(height_px)s, %(fps)s, %(duration_ms)s, %(now)s,
            %(expires_at)s)
        RETURNING *
        """,
        {
            "id": render_id,
            "organization_id": organization_id,
            "api_key_id": api_key_id,
            "md5": new.md5,
            "metadata": Jsonb(new.metadata),
            "source_key": source_key,
            "width_px": new.asked.width_px,
            "height_px": new.asked.height_px,
            "fps": str(new.asked.fps) if new.asked.fps else None,
            "duration_ms": new.asked.duration_ms,
            "now": now,
            "expires_at": new.expires_at,
        },
    )
    row = await cursor.fetchone()
    assert row is not None
    return _render(row)


async def find(
    connection: Connection, organization_id: OrganizationId, render_id: RenderId
) -> Render | None:
    """Return a render of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM render WHERE id = %s AND organization_id = %s", (render_id, organization_id)
    )
    row = await cursor.fetchone()
    return _render(row) if row else None


async def find_progress(connection: Connection, render_id: RenderId) -> Progress | None:
    """Return how far a render is."""
    cursor = await connection.execute(
        """
        SELECT status, error_code, error_message, coalesce(frames_done, 0) AS frames_done,
            coalesce(frame_count, 0) AS frame_count
        FROM render LEFT JOIN render_progress ON render_id = id WHERE id = %s
        """,
        (render_id,),
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return Progress(
        status=RenderStatus(row["status"]),
        frames_done=row["frames_done"],
        frame_count=row["frame_count"],
        failure=_failure(row),
    )


async def take(connection: Connection, render_id: RenderId, *, now: datetime) -> Render | None:
    """Make the caller the one worker of a render; None when there is nothing left to do."""
    cursor = await connection.execute(
        """
        UPDATE render SET fence = fence + 1, started_at = coalesce(started_at, %(now)s),
            status = CASE WHEN fence = 0 THEN 'rendering' ELSE 'recovering' END
        WHERE id = %(id)s AND status NOT IN ('complete', 'failed')
        RETURNING *
        """,
        {"id": render_id, "now": now},
    )
    row = await cursor.fetchone()
    return _render(row) if row else None


async def set_progress(
    connection: Connection, render: Render, *, frames_done: int, frame_count: int
) -> None:
    """Write progress, if the caller is still the render's worker."""
    await connection.execute(
        """
        INSERT INTO render_progress (render_id, frames_done, frame_count)
        SELECT id, %(done)s, %(count)s FROM render WHERE id = %(id)s AND fence = %(fence)s
        ON CONFLICT (render_id) DO UPDATE
        SET frames_done = excluded.frames_done, frame_count = excluded.frame_count
        """,
        {"id": render.id, "fence": render.fence, "done": frames_done, "count": frame_count},
    )


async def set_recovered(connection: Connection, render: Render) -> None:
    """A render that was taken over makes frames again."""
    await connection.execute(
        """
        UPDATE render SET status = 'rendering'
        WHERE id = %s AND fence = %s AND status = 'recovering'
        """,
        (render.id, render.fence),
    )


async def complete(connection: Connection, render: Render, made: Made, *, now: datetime) -> bool:
    """Record the output; False when another worker has taken the render over."""
    cursor = await connection.execute(
        """
        UPDATE render SET status = 'complete', completed_at = %(now)s, width_px = %(width_px)s,
            height_px = %(height_px)s, fps = %(fps)s, duration_ms = %(duration_ms)s,
            output_key = %(output_key)s, byte_size = %(byte_size)s, record = %(record)s
        WHERE id = %(id)s AND fence = %(fence)s AND status = ANY(%(before)s)
        """,
        {
            "id": render.id,
            "fence": render.fence,
            "before": before(RenderStatus.COMPLETE),
            "now": now,
            "width_px": made.width_px,
            "height_px": made.height_px,
            "fps": str(made.fps),
            "duration_ms": made.duration_ms,
            "output_key": made.output_key,
            "byte_size": made.byte_size,
            "record": Jsonb(made.record),
        },
    )
    return cursor.rowcount == 1


async def fail(connection: Connection, render: Render, failure: Failure, *, now: datetime) -> bool:
    """Record why it failed; False when another worker has taken the render over."""
    cursor = await connection.execute(
        """
        UPDATE render SET status = 'failed', failed_at = %(now)s, error_code = %(code)s,
            error_message = %(message)s
        WHERE id = %(id)s AND fence = %(fence)s AND status = ANY(%(before)s)
        """,
        {
            "id": render.id,
            "fence": render.fence,
            "before": before(RenderStatus.FAILED),
            "now": now,
            "code": failure.code,
            "message": failure.message,
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
        asked=Asked(
            width_px=row["asked_width_px"],
            height_px=row["asked_height_px"],
            fps=Fraction(row["asked_fps"]) if row["asked_fps"] else None,
            duration_ms=row["asked_duration_ms"],
        ),
        metadata=row["metadata"],
        md5=row["md5"],
        fence=row["fence"],
        made=_made(row),
        failure=_failure(row),
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        failed_at=row["failed_at"],
        expires_at=row["expires_at"],
    )


def _made(row: Row) -> Made | None:
    if row["output_key"] is None:
        return None
    return Made(
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
    return Failure(code=row["error_code"], message=row["error_message"])
