"""How any job of a transcription ends it badly: at the last try, with the reason."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from uuid import UUID

from framekiln.jobs.ending import Failure, failing_for_good
from framekiln.jobs.model import JobContext
from framekiln.kit.ids import FileId, OrganizationId, TranscriptionId
from framekiln.storage.blob_store import BlobStore
from framekiln.transcripts.model import transcription_prefix
from framekiln.transcripts.work import TranscriptWork


@dataclass(frozen=True)
class Named:
    """Which transcription a job is about; the row may be gone by the time it runs."""

    transcription_id: TranscriptionId
    organization_id: OrganizationId
    file_id: FileId

    @classmethod
    def of(cls, job: JobContext) -> "Named":
        """Read the arguments of a job."""
        return cls(
            TranscriptionId(UUID(job.args["transcription_id"])),
            OrganizationId(UUID(job.args["organization_id"])),
            FileId(UUID(job.args["file_id"])),
        )

    @property
    def prefix(self) -> str:
        """Where everything of it is kept."""
        return transcription_prefix(self.organization_id, self.file_id, self.transcription_id)


def ending_badly(
    work: TranscriptWork, blobs: BlobStore, job: JobContext
) -> AbstractAsyncContextManager[None]:
    """Fail it when its job fails for good; while the queue tries again it goes on."""
    named = Named.of(job)

    async def fail(failure: Failure) -> None:
        if await work.fail(named.transcription_id, failure):
            await blobs.delete_prefix(named.prefix)

    return failing_for_good(job, fail)
