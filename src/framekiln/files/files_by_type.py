"""Finds files of one type. Read only; `Files` makes changes."""

from framekiln.db.pool import Database
from framekiln.files import store as file_store
from framekiln.files import store as file_type_store
from framekiln.files.errors import FileNotFound
from framekiln.files.model import File, FileType
from framekiln.files.service import file_not_found
from framekiln.kit.clock import Clock
from framekiln.kit.ids import FileId, OrganizationId


class FilesByType:
    """The files of all organizations, by type."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def get(
        self, organization_id: OrganizationId, file_id: FileId, *, file_type: FileType
    ) -> File:
        """Return a file of this type."""
        async with self._database.connection() as connection:
            file = await file_store.find(connection, organization_id, file_id)
        if file is None or file.type is not file_type:
            raise file_not_found(file_id)
        return file

    async def find_by_md5(
        self,
        organization_id: OrganizationId,
        md5: str,
        *,
        file_type: FileType,
        with_size: bool = True,
    ) -> File:
        """Return the best file of this type with this MD5."""
        async with self._database.connection() as connection:
            found = await file_type_store.find_by_type_and_md5(
                connection,
                organization_id,
                md5,
                file_type=file_type,
                with_size=with_size,
                now=self._clock.now(),
            )
            file = await file_store.find(connection, organization_id, found) if found else None
        if file is None:
            raise FileNotFound(f"there is no {file_type} file with md5 {md5[:64]}")
        return file
