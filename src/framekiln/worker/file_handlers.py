"""The handlers of files: taking in, putting together, redacting."""

from framekiln.files.jobs import PROCESS_FILE
from framekiln.files.processing import ProcessFile
from framekiln.files.streams.assembling import AssembleStream
from framekiln.files.streams.jobs import ASSEMBLE_STREAM
from framekiln.jobs.model import Handler
from framekiln.playback.foreseeing import ThenLook
from framekiln.renders.jobs import REDACT_FILE
from framekiln.renders.redacting import RedactFile
from framekiln.services import Services


def file_handlers(services: Services) -> dict[str, Handler]:
    """Return them by kind of job."""
    work, blobs, playback = services.file_work, services.blobs, services.playback
    return {
        PROCESS_FILE: ThenLook(ProcessFile(work, blobs), playback),
        ASSEMBLE_STREAM: ThenLook(AssembleStream(work, blobs, services.streams), playback),
        REDACT_FILE: RedactFile(services.render_work, services.files, blobs),
    }
