"""The SQL of the versions of sources that renders use."""

import hashlib

from framekiln.db.pool import Connection
from framekiln.kit.content_version import ContentVersion
from framekiln.kit.ids import RenderId


async def find_source(
    connection: Connection, render_id: RenderId, url: str
) -> ContentVersion | None:
    """Return the version of a source that a render uses, if it is known."""
    cursor = await connection.execute(
        "SELECT * FROM render_source WHERE render_id = %s AND url_sha256 = %s",
        (render_id, hashlib.sha256(url.encode()).digest()),
    )
    row = await cursor.fetchone()
    return ContentVersion(row["size_bytes"], row["etag"], row["modified"]) if row else None


async def record_source(
    connection: Connection, render_id: RenderId, url: str, version: ContentVersion
) -> None:
    """Record the version of a source, unless one is recorded."""
    digest = hashlib.sha256(url.encode()).digest()
    await connection.execute(
        """
        INSERT INTO render_source (render_id, url_sha256, size_bytes, etag, modified)
        SELECT id, %s, %s, %s, %s FROM render WHERE id = %s
        ON CONFLICT (render_id, url_sha256) DO NOTHING
        """,
        (digest, version.size_bytes, version.etag, version.modified, render_id),
    )
