"""The job of streamed uploads."""

from typing import Final

from framekiln.files.jobs import FILES_QUEUE
from framekiln.files.model import File
from framekiln.jobs.model import NewJob

ASSEMBLE_STREAM: Final = "file.assemble"


def assemble_job(file: File) -> NewJob:
    """Return the job that makes track files of a sealed stream."""
    args = {"file_id": str(file.id), "organization_id": str(file.organization_id)}
    return NewJob(kind=ASSEMBLE_STREAM, args=args, queue=FILES_QUEUE)
