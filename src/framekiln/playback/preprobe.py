"""Probes uploaded videos when they become ready, so that the first manifest need not wait.

Only workers use it: `files` does not know about playback. A missed file is probed when it is first
played.
"""

from dataclasses import dataclass
from uuid import UUID

from framekiln.jobs.model import Handler, JobContext
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.playback.service import Playback


@dataclass(frozen=True)
class ProbeWhenReady:
    """Handles a job that makes a file ready, and then probes the file."""

    handle: Handler
    playback: Playback

    async def __call__(self, job: JobContext) -> None:
        """Run the job and let its errors pass."""
        await self.handle(job)
        owner, file_id = (UUID(job.args[key]) for key in ("organization_id", "file_id"))
        try:
            await self.playback.preprobe(OrganizationId(owner), FileId(file_id))
        except FramekilnError:
            # The file is not ready after all, or was deleted: this is not an error here.
            return
