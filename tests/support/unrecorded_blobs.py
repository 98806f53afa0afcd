"""What happens to the blobs under a folder that nobody recorded within a day."""

from framekiln.services import Services
from framekiln.storage.new_blobs import RECORDED_WITHIN


async def delete_unrecorded(services: Services, folder: str) -> None:
    """Do what a control worker does a day later, for one folder: others use the database, too."""
    async with services.database.connection() as connection:
        await connection.execute(
            "UPDATE unrecorded_blob SET delete_at = delete_at - %s WHERE starts_with(path, %s)",
            (RECORDED_WITHIN, f"{folder}/"),
        )
    await services.blob_deletions.run_all()
