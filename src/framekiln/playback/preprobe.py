"""Probes uploaded videos when they become ready, so that the first manifest need not wait.

Only workers use it: files know nothing of players. A missed file is probed for its first player.
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
        """Do the job; what it raises is raised."""
        await self.handle(job)
        owner, file_id = (UUID(job.args[key]) for key in ("organization_id", "file_id"))
        try:
            await self.playback.preprobe(OrganizationId(owner), FileId(file_id))
        except FramekilnError:
            # It is not ready after all, or gone: nobody is told so by us.
            return
