"""The SQL of videos. Every read checks the organization."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from psycopg.types.json import Json as JsonText

from framekiln.db.pool import Connection
from framekiln.kit.ids import ApiKeyId, OrganizationId, RenderId
from framekiln.renders.model import Render
from framekiln.videos.model import NewVideo, VideoRecord
from framekiln.videos.pagination import PageNumberRequest
from framekiln.videos.public_ids import TemplateId, VideoId

Row = dict[str, Any]

_LISTED_CONFIG_BYTES: Final = 256 << 10


async def insert(
    connection: Connection, video_id: VideoId, new: NewVideo, *, render: Render, now: datetime
) -> VideoRecord | None:
    """Add a video of a render; None if the id is taken."""
    cursor = await connection.execute(
        """
        INSERT INTO video (id, organization_id, api_key_id, render_id, template_id,
            template_version, config, digest, metadata, warnings, created_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(render_id)s, %(template_id)s,
            %(template_version)s, %(config)s, %(digest)s, %(metadata)s, %(warnings)s, %(now)s)
        ON CONFLICT (id) DO NOTHING
        RETURNING *
        """,
        {
            "id": video_id,
            "organization_id": render.organization_id,
            "api_key_id": render.api_key_id,
            "render_id": render.id,
            "template_id": new.template_id,
            "template_version": new.template_version,
            "config": JsonText(new.config),
            "digest": new.digest,
            "metadata": JsonText(new.metadata),
            "warnings": JsonText(list(new.warnings)),
            "now": now,
        },
    )
    row = await cursor.fetchone()
    return _record(row) if row else None


async def find(
    connection: Connection, organization_id: OrganizationId, video_id: VideoId
) -> VideoRecord | None:
    """Return a video of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM video WHERE id = %s AND organization_id = %s", (video_id, organization_id)
    )
    row = await cursor.fetchone()
    return _record(row) if row else None


async def list_page(
    connection: Connection, organization_id: OrganizationId, page_request: PageNumberRequest
) -> Sequence[VideoRecord]:
    """Return the videos of a page, newest first; of long configs only what names the film."""
    cursor = await connection.execute(
        """
        SELECT id, organization_id, api_key_id, render_id, template_id, template_version, digest,
            metadata, warnings, created_at,
            CASE WHEN octet_length(config::text) <= %s THEN config
            ELSE json_build_object('filename', config->'filename', 'extension', config->'extension')
            END AS config
        FROM video WHERE organization_id = %s
        ORDER BY created_at DESC, id LIMIT %s OFFSET %s
        """,
        (_LISTED_CONFIG_BYTES, organization_id, page_request.per_page, page_request.offset),
    )
    return [_record(row) for row in await cursor.fetchall()]


async def count(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of videos of the organization."""
    cursor = await connection.execute(
        "SELECT count(*) AS n FROM video WHERE organization_id = %s", (organization_id,)
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def find_complete_by_digest(
    connection: Connection, organization_id: OrganizationId, digest: str
) -> VideoRecord | None:
    """Return the newest finished video with this digest whose render is kept."""
    cursor = await connection.execute(
        """
        SELECT video.* FROM video JOIN render ON render.id = video.render_id
        WHERE video.organization_id = %s AND digest = %s AND render.status = 'complete'
            AND render.expires_at IS NULL
        ORDER BY video.created_at DESC LIMIT 1
        """,
        (organization_id, digest),
    )
    row = await cursor.fetchone()
    return _record(row) if row else None


async def delete(connection: Connection, video_id: VideoId) -> bool:
    """Delete a video; False if it did not exist."""
    cursor = await connection.execute("DELETE FROM video WHERE id = %s", (video_id,))
    return cursor.rowcount == 1


async def is_render_used(connection: Connection, render_id: RenderId) -> bool:
    """Whether any video uses the render."""
    cursor = await connection.execute(
        "SELECT 1 FROM video WHERE render_id = %s LIMIT 1", (render_id,)
    )
    return await cursor.fetchone() is not None


async def find_by_render(connection: Connection, render_id: RenderId) -> Sequence[VideoRecord]:
    """Return the videos of a render, of any organization: for events."""
    cursor = await connection.execute(
        "SELECT * FROM video WHERE render_id = %s ORDER BY created_at, id", (render_id,)
    )
    return [_record(row) for row in await cursor.fetchall()]


def _record(row: Row) -> VideoRecord:
    return VideoRecord(
        id=VideoId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        render_id=RenderId(row["render_id"]),
        template_id=TemplateId(row["template_id"]) if row["template_id"] else None,
        template_version=row["template_version"],
        config=row["config"],
        digest=row["digest"],
        metadata=row["metadata"],
        warnings=row["warnings"],
        created_at=row["created_at"],
    )
