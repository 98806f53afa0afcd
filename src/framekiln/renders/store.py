"""The SQL of renders."""

from collections import ChainMap
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.condition import Condition
from framekiln.db.newest_rows import NewestPage, list_newest_rows
from framekiln.db.pool import Connection
from framekiln.jobs.failures import Failure
from framekiln.jobs.model import NewJob
from framekiln.jobs.queue import DEFER_JOBS, job_rows
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.kit.warning_text import warnings_as_json, warnings_from_json
from framekiln.renders.model import (
    Render,
    RenderProgress,
    RenderRequest,
    RenderResult,
    RenderStatus,
    SourceKind,
    states_before,
)
from framekiln.renders.output import output_as_json, output_from_json
from framekiln.timeline import stored_rate

Row = dict[str, Any]


async def insert(  # noqa: PLR0913 - one column each
    connection: Connection,
    render_id: RenderId,
    request: RenderRequest,
    *,
    organization_id: OrganizationId,
    api_key_id: ApiKeyId | None,
    source_key: str,
    now: datetime,
    job: NewJob | None,
    data_key: str | None = None,
    conditions: Sequence[Condition] = (),
) -> Render | None:
    """Insert a render in its first state and queue its job.

    Do nothing if the id exists or a condition does not hold.
    """
    cursor = await connection.execute(
        f"""
        INSERT INTO render (id, organization_id, api_key_id, status, md5, metadata, source_key,
            source_kind, source_digest, is_bundle, asked_width_px, asked_height_px, asked_fps,
            asked_duration_ms, output, slice_ms, created_at, expires_at, request_warnings,
            data_key)
        SELECT %(id)s, %(organization_id)s, %(api_key_id)s, 'created', %(md5)s, %(metadata)s,
            %(source_key)s, %(source_kind)s, %(source_digest)s, %(is_bundle)s, %(width_px)s,
            %(height_px)s, %(fps)s, %(duration_ms)s, %(output)s, %(slice_ms)s, %(now)s,
            %(expires_at)s, %(request_warnings)s, %(data_key)s
        WHERE {" AND ".join(["true", *(each.text for each in conditions)])}
        ON CONFLICT (id) DO NOTHING
        RETURNING *, {DEFER_JOBS}
        """,
        {
            "id": render_id,
            "organization_id": organization_id,
            "api_key_id": api_key_id,
            "md5": request.md5,
            "metadata": Jsonb(request.metadata),
            "source_key": source_key,
            "source_kind": request.source_kind,
            "source_digest": request.source_digest,
            "is_bundle": request.source_kind is SourceKind.BUNDLE,
            "output": Jsonb(output_as_json(request.output)),
            "slice_ms": request.slice_ms,
            "width_px": request.width_px,
            "height_px": request.height_px,
            "fps": str(request.fps) if request.fps else None,
            "duration_ms": request.duration_ms,
            "now": now,
            "expires_at": request.expires_at,
            "request_warnings": Jsonb(request.warnings),
            "data_key": data_key,
            "jobs": job_rows([] if job is None else [job]),
            **ChainMap(*(dict(each.parameters) for each in conditions)),
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


async def list_newest(
    connection: Connection,
    organization_id: OrganizationId,
    page: NewestPage,
    *,
    status: RenderStatus | None,
) -> list[Render]:
    """Return renders, newest first; those of videos have a list of their own."""
    listed = [SourceKind.HTML, SourceKind.BUNDLE, SourceKind.REDACTION]
    rows = await list_newest_rows(
        connection,
        "render",
        organization_id,
        page=page,
        conditions={"source_kind = ANY(%s)": listed, "status = %s": status},
    )
    return [_render(row) for row in rows]


async def find_by_md5(
    connection: Connection, organization_id: OrganizationId, md5: str
) -> Render | None:
    """Return the newest render with that MD5; dashes and case do not matter."""
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
    """Delete a render and its slices."""
    await connection.execute("DELETE FROM render WHERE id = %s", (render_id,))


async def delete_expired(connection: Connection, *, now: datetime, limit: int) -> list[Render]:
    """Delete and return expired renders that are not active."""
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
    """Set when a render will be deleted."""
    query = "UPDATE render SET expires_at = %s WHERE id = %s"
    await connection.execute(query, (expires_at, render_id))


async def set_queued(connection: Connection, render_id: RenderId, *, source_key: str) -> None:
    """Queue a render whose bundle was uploaded."""
    await connection.execute(
        "UPDATE render SET status = 'queued', source_key = %s WHERE id = %s AND status = ANY(%s)",
        (source_key, render_id, states_before(RenderStatus.QUEUED)),
    )


async def find_by_id(connection: Connection, render_id: RenderId) -> Render | None:
    """Return a render of any organization, for workers."""
    cursor = await connection.execute("SELECT * FROM render WHERE id = %s", (render_id,))
    row = await cursor.fetchone()
    return _render(row) if row else None


async def is_wanted(connection: Connection, render_id: RenderId) -> bool:
    """Return whether a render exists and has not failed."""
    query = "SELECT FROM render WHERE id = %s AND status <> 'failed'"
    return await (await connection.execute(query, (render_id,))).fetchone() is not None


async def lock(connection: Connection, render_id: RenderId) -> Render | None:
    """Return a render, with its row locked until the transaction ends."""
    cursor = await connection.execute("SELECT * FROM render WHERE id = %s FOR UPDATE", (render_id,))
    row = await cursor.fetchone()
    return _render(row) if row else None


async def find_progress(
    connection: Connection, render_ids: Sequence[RenderId]
) -> dict[RenderId, RenderProgress]:
    """Return the progress of renders: finished slices, and the frames of those in progress.

    A render without slices counts thousandths.
    """
    cursor = await connection.execute(
        """
        SELECT id, status, error_code, error_message, record,
            coalesce((plan ->> 'frame_count')::integer, 1000) AS frame_count,
            CASE WHEN plan IS NULL THEN (SELECT coalesce(max(frames_done), 0)
                FROM render_slice_progress WHERE render_id = render.id AND number = -1)
            ELSE (SELECT coalesce(sum(CASE slice.status WHEN 'done' THEN slice.frame_count
                    WHEN 'taken' THEN coalesce(made.frames_done, 0) ELSE 0 END), 0)
                FROM render_slice slice LEFT JOIN render_slice_progress made USING
                    (render_id, number)
                WHERE slice.render_id = render.id)::integer END AS frames_done
        FROM render WHERE id = ANY(%s)
        """,
        (list(render_ids),),
    )
    return {
        RenderId(row["id"]): RenderProgress(
            status=RenderStatus(row["status"]),
            frames_done=row["frames_done"],
            frame_count=row["frame_count"],
            failure=_failure(row),
        )
        for row in await cursor.fetchall()
    }


async def set_started(connection: Connection, render_id: RenderId, *, now: datetime) -> None:
    """Set a render to `rendering`, and when its first worker started."""
    await connection.execute(
        """
        UPDATE render SET status = 'rendering', started_at = coalesce(started_at, %(now)s)
        WHERE id = %(id)s AND status = ANY(%(before)s)
        """,
        {"id": render_id, "now": now, "before": states_before(RenderStatus.RENDERING)},
    )


async def set_recovering(connection: Connection, render_id: RenderId) -> None:
    """Set a render to `recovering`: a worker takes over from a dead one."""
    await connection.execute(
        "UPDATE render SET status = 'recovering' WHERE id = %s AND status = ANY(%s)",
        (render_id, states_before(RenderStatus.RECOVERING)),
    )


async def set_recovered(connection: Connection, render_id: RenderId) -> None:
    """Set a recovering render to `rendering` again."""
    query = "UPDATE render SET status = 'rendering' WHERE id = %s AND status = 'recovering'"
    await connection.execute(query, (render_id,))


async def set_plan(connection: Connection, render_id: RenderId, plan: Row) -> None:
    """Store the JSON of a `FilmPlan`."""
    await connection.execute("UPDATE render SET plan = %s WHERE id = %s", (Jsonb(plan), render_id))


async def set_sound(
    connection: Connection, render_id: RenderId, blob_key: str | None, *, digest: str | None
) -> None:
    """Store the key and the digest of the mixed sound; None if it has to be mixed again."""
    await connection.execute(
        "UPDATE render SET sound_key = %s, sound_digest = %s WHERE id = %s",
        (blob_key, digest, render_id),
    )


async def find_film(
    connection: Connection, render: Render, film_digest: str
) -> RenderResult | None:
    """Return the newest film of the organization with that digest."""
    cursor = await connection.execute(
        """
        SELECT * FROM render
        WHERE organization_id = %s AND film_digest = %s AND status = 'complete' AND id <> %s
        ORDER BY completed_at DESC LIMIT 1
        """,
        (render.organization_id, film_digest, render.id),
    )
    row = await cursor.fetchone()
    return _result(row) if row else None


async def complete(
    connection: Connection,
    render_id: RenderId,
    result: RenderResult,
    *,
    now: datetime,
    film_digest: str | None = None,
) -> bool:
    """Complete a render; False when it has already ended."""
    cursor = await connection.execute(
        """
        UPDATE render SET status = 'complete', completed_at = %(now)s, width_px = %(width_px)s,
            height_px = %(height_px)s, fps = %(fps)s, duration_ms = %(duration_ms)s,
            output_key = %(output_key)s, byte_size = %(byte_size)s, record = %(record)s,
            output_md5 = %(md5)s, film_digest = %(film_digest)s
        WHERE id = %(id)s AND status = ANY(%(before)s)
        """,
        {
            "id": render_id,
            "before": states_before(RenderStatus.COMPLETE),
            "now": now,
            **vars(result),
            "fps": str(result.fps),
            "record": Jsonb(result.record),
            "film_digest": film_digest,
        },
    )
    return cursor.rowcount == 1


async def fail(
    connection: Connection, render_id: RenderId, failure: Failure, *, now: datetime
) -> bool:
    """Fail a render; False when it has already ended."""
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
            "record": Jsonb(warnings_as_json(failure.warnings)),
        },
    )
    return cursor.rowcount == 1


def _render(row: Row) -> Render:
    return Render(
        id=RenderId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        status=RenderStatus(row["status"]),
        request=RenderRequest(
            source_kind=SourceKind(row["source_kind"]),
            source_digest=row["source_digest"],
            width_px=row["asked_width_px"],
            height_px=row["asked_height_px"],
            fps=stored_rate(row["asked_fps"]) if row["asked_fps"] else None,
            duration_ms=row["asked_duration_ms"],
            output=output_from_json(row["output"]),
            metadata=row["metadata"],
            md5=row["md5"],
            slice_ms=row["slice_ms"],
            expires_at=row["expires_at"],
            warnings=tuple(row["request_warnings"]),
        ),
        source_key=row["source_key"],
        data_key=row["data_key"],
        plan=row["plan"],
        sound_key=row["sound_key"],
        sound_digest=row["sound_digest"],
        has_destinations=row["has_destinations"],
        result=_result(row),
        failure=_failure(row),
        created_at=row["created_at"],
        completed_at=row["completed_at"],
        failed_at=row["failed_at"],
    )


def _result(row: Row) -> RenderResult | None:
    if row["output_key"] is None:
        return None
    return RenderResult(
        width_px=row["width_px"],
        height_px=row["height_px"],
        fps=stored_rate(row["fps"]),
        duration_ms=row["duration_ms"],
        output_key=row["output_key"],
        byte_size=row["byte_size"],
        record=row["record"],
        md5=row["output_md5"],
    )


def _failure(row: Row) -> Failure | None:
    if row["error_code"] is None:
        return None
    return Failure(row["error_code"], row["error_message"], warnings_from_json(row["record"]))
