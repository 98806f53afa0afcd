"""The SQL of a render's slices. All changes happen under the lock on the render's row."""

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any

from psycopg.types.json import Jsonb

from framekiln.db.pool import Connection
from framekiln.engine.film_plan import FilmSlice
from framekiln.kit.ids import RenderId
from framekiln.renders.model import FinishedSlice, FrameCounts, TakenRenderSlice
from framekiln.renders.slice_state import RenderSlice


async def insert(
    connection: Connection,
    render_id: RenderId,
    slices: Sequence[FilmSlice],
    digests: Sequence[str | None] = (),
    finished: Sequence[FinishedSlice] = (),
) -> None:
    """Insert the slices of a planned render; some may be finished already."""
    done = {each.number: each for each in finished}
    rows = [
        (
            each.number,
            each.first_frame,
            each.frame_count,
            digest,
            "done" if each.number in done else "todo",
            done[each.number].blob_key if each.number in done else None,
            Jsonb(done[each.number].record) if each.number in done else None,
        )
        for each, digest in zip_longest(slices, digests)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    await connection.execute(
        """
        INSERT INTO render_slice
            (render_id, number, first_frame, frame_count, digest, status, blob_key, record)
        SELECT %s, * FROM unnest(
            %s::integer[], %s::integer[], %s::integer[], %s::text[], %s::text[], %s::text[],
            %s::jsonb[])
        """,
        (render_id, *columns),
    )


async def release(connection: Connection, render_id: RenderId, *, job_id: int) -> int:
    """Free the slices that an earlier attempt of this job had taken; return how many."""
    cursor = await connection.execute(
        """
        UPDATE render_slice SET status = 'todo'
        WHERE render_id = %s AND status = 'taken' AND taken_by = %s
        """,
        (render_id, job_id),
    )
    return cursor.rowcount


async def give_back(connection: Connection, render_id: RenderId, *, job_id: int) -> int:
    """Free the slices of a job that has ended its work, as if they had not been taken."""
    cursor = await connection.execute(
        """
        UPDATE render_slice SET status = 'todo', fence = fence - 1
        WHERE render_id = %s AND status = 'taken' AND taken_by = %s
        """,
        (render_id, job_id),
    )
    return cursor.rowcount


async def list_free_numbers(connection: Connection, render_id: RenderId) -> list[int]:
    """Return the numbers of the free slices, in order."""
    cursor = await connection.execute(
        "SELECT number FROM render_slice WHERE render_id = %s AND status = 'todo' ORDER BY number",
        (render_id,),
    )
    return [row["number"] for row in await cursor.fetchall()]


async def take(
    connection: Connection, render_id: RenderId, number: int, *, job_id: int, now: datetime
) -> TakenRenderSlice:
    """Take a free slice for a job, under a new fence."""
    cursor = await connection.execute(
        """
        UPDATE render_slice SET status = 'taken', fence = fence + 1, taken_by = %(job_id)s,
            taken_at = %(now)s
        WHERE render_id = %(render_id)s AND number = %(number)s AND status = 'todo'
        RETURNING *
        """,
        {"render_id": render_id, "number": number, "job_id": job_id, "now": now},
    )
    row = await cursor.fetchone()
    assert row is not None, "the render's row lock keeps others away"
    return TakenRenderSlice(
        render_id=render_id,
        slice=FilmSlice(row["number"], row["first_frame"], row["frame_count"]),
        fence=row["fence"],
        digest=row["digest"],
    )


async def finish(
    connection: Connection,
    taken: TakenRenderSlice,
    *,
    blob_key: str,
    record: dict[str, Any],
    console: Sequence[dict[str, str]],
    now: datetime,
) -> bool:
    """Record a finished slice; False when another worker has taken it."""
    cursor = await connection.execute(
        """
        UPDATE render_slice SET status = 'done', blob_key = %(blob_key)s, record = %(record)s,
            console = %(console)s, finished_at = %(now)s
        WHERE render_id = %(render_id)s AND number = %(number)s AND fence = %(fence)s
            AND status = 'taken'
        """,
        {
            "render_id": taken.render_id,
            "number": taken.slice.number,
            "fence": taken.fence,
            "blob_key": blob_key,
            "record": Jsonb(record),
            "console": Jsonb(list(console)),
            "now": now,
        },
    )
    return cursor.rowcount == 1


async def set_frames_done(
    connection: Connection, taken: TakenRenderSlice, frames_done: int
) -> bool:
    """Record the progress of a slice; False when another worker has taken it."""
    cursor = await connection.execute(
        """
        INSERT INTO render_slice_progress (render_id, number, frames_done)
        SELECT render_id, number, %(done)s FROM render_slice
        WHERE render_id = %(render_id)s AND number = %(number)s AND fence = %(fence)s
        ON CONFLICT (render_id, number) DO UPDATE SET frames_done = excluded.frames_done
        """,
        {
            "render_id": taken.render_id,
            "number": taken.slice.number,
            "fence": taken.fence,
            "done": frames_done,
        },
    )
    return cursor.rowcount == 1


async def set_permille(connection: Connection, render_id: RenderId, thousandths: int) -> None:
    """Record the progress of a render without slices, as slice -1."""
    await connection.execute(
        """
        INSERT INTO render_slice_progress (render_id, number, frames_done)
        SELECT id, -1, %s FROM render WHERE id = %s
        ON CONFLICT (render_id, number) DO UPDATE SET frames_done = excluded.frames_done
        """,
        (thousandths, render_id),
    )


async def count_unfinished(connection: Connection, render_id: RenderId) -> int:
    """Return how many slices are not finished."""
    cursor = await connection.execute(
        "SELECT count(*) AS n FROM render_slice WHERE render_id = %s AND status <> 'done'",
        (render_id,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def list_finished(connection: Connection, render_id: RenderId) -> list[FinishedSlice]:
    """Return the finished slices, in order."""
    cursor = await connection.execute(
        """
        SELECT number, blob_key, record FROM render_slice
        WHERE render_id = %s AND status = 'done' ORDER BY number
        """,
        (render_id,),
    )
    return [
        FinishedSlice(row["number"], row["blob_key"], row["record"])
        for row in await cursor.fetchall()
    ]


async def list_all(connection: Connection, render_id: RenderId) -> list[RenderSlice]:
    """Return all slices with their progress, in order."""
    cursor = await connection.execute(
        """
        SELECT slice.*, coalesce(made.frames_done, 0) AS frames_done
        FROM render_slice slice LEFT JOIN render_slice_progress made USING (render_id, number)
        WHERE render_id = %s ORDER BY number
        """,
        (render_id,),
    )
    return [_slice(row) async for row in cursor]


def _slice(row: dict[str, Any]) -> RenderSlice:
    is_done = row["status"] == "done"
    return RenderSlice(
        number=row["number"],
        first_frame=row["first_frame"],
        frame_count=row["frame_count"],
        status=row["status"],
        attempt=row["fence"],
        # Progress is not kept after a crash of the database.
        frames_done=row["frame_count"] if is_done else row["frames_done"],
        taken_at=row["taken_at"],
        finished_at=row["finished_at"] if is_done else None,
        record=row["record"] or {},
        console=row["console"],
    )


async def count_frames(connection: Connection, *, since: datetime) -> FrameCounts:
    """Add up how the frames of films were made that were completed since then."""
    cursor = await connection.execute(
        """
        SELECT coalesce(sum((record ->> 'captured_frames')::bigint), 0) AS captured,
               coalesce(sum((record ->> 'composed_frames')::bigint), 0) AS composed,
               coalesce(sum((record ->> 'differing_slices')::bigint), 0) AS differing_slices,
               coalesce(sum((record ->> 'reused_slices')::bigint), 0) AS reused_slices
        FROM render WHERE status = 'complete' AND completed_at > %s
        """,
        (since,),
    )
    row = await cursor.fetchone()
    assert row is not None
    return FrameCounts(**{name: int(count) for name, count in row.items()})
