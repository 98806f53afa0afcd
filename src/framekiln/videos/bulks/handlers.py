"""Job: start the next rows of a bulk."""

import asyncio
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from framekiln.jobs.model import JobContext
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import OrganizationId
from framekiln.videos.bulks.worker import BulkWorker
from framekiln.videos.public_ids import BulkId

_AT_ONCE: Final = 2


@dataclass(frozen=True)
class StartRows:
    """Handles `bulk.start_rows` jobs."""

    worker: BulkWorker
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    """Each holds a connection while it needs another."""

    async def __call__(self, job: JobContext) -> None:
        """Start as many rows as may be under way."""

        def is_final(error: FramekilnError) -> bool:
            return not job.will_retry(error)

        async with self.places:
            await self.worker.start_rows(
                OrganizationId(UUID(job.args["organization_id"])),
                BulkId(job.args["bulk_id"]),
                is_final=is_final,
            )
