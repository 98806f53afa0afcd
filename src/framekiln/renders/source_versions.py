"""Which versions of sources a render is made of: all its workers read the same one, or it fails."""

from dataclasses import dataclass

from framekiln.db.pool import Database
from framekiln.kit.content_version import ContentVersion
from framekiln.kit.ids import RenderId
from framekiln.renders import store


@dataclass(frozen=True)
class SourceVersions:
    """Of sources that are read where they lie; they go with their render."""

    database: Database

    async def find(self, render_id: RenderId, url: str) -> ContentVersion | None:
        """Return the version that a worker of this render has read, if any has."""
        async with self.database.connection() as connection:
            return await store.find_source(connection, render_id, url)

    async def record(
        self, render_id: RenderId, url: str, version: ContentVersion
    ) -> ContentVersion:
        """Record a version, and return the one that was recorded first."""
        async with self.database.transaction() as connection:
            await store.record_source(connection, render_id, url, version)
            return await store.find_source(connection, render_id, url) or version
