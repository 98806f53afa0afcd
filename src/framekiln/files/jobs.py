"""The jobs of files, and the queue of all jobs that download sources."""

from typing import Final

from framekiln.files.model import File
from framekiln.jobs.model import NewJob

PROCESS_FILE: Final = "file.process"
FILES_QUEUE: Final = "files"
# Downloads mostly wait: slow servers take no slot of those who play or make films.
SOURCES_QUEUE: Final = "sources"


def process_job(file: File) -> NewJob:
    """Return the job that makes tracks and an index from an uploaded video."""
    args = {"file_id": str(file.id), "organization_id": str(file.organization_id)}
    return NewJob(kind=PROCESS_FILE, args=args, queue=FILES_QUEUE)


ASSEMBLE_STREAM: Final = "file.assemble"


def assemble_job(file: File) -> NewJob:
    """Return the job that makes track files from a sealed stream."""
    args = {"file_id": str(file.id), "organization_id": str(file.organization_id)}
    return NewJob(kind=ASSEMBLE_STREAM, args=args, queue=FILES_QUEUE)
