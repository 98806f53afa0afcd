"""Handlers of file jobs: process, assemble, redact."""

from framekiln.files.handlers import ProcessFile
from framekiln.files.jobs import ASSEMBLE_STREAM, PROCESS_FILE
from framekiln.files.streams.handlers import AssembleStream
from framekiln.jobs.model import Handler
from framekiln.playback.preprobe import ProbeWhenReady
from framekiln.renders.handlers.redact import RedactFile
from framekiln.renders.jobs import REDACT_FILE
from framekiln.services import Services


def file_handlers(services: Services) -> dict[str, Handler]:
    """Return the handlers by job kind."""
    work, blobs, playback = services.file_worker, services.blobs, services.playback
    return {
        PROCESS_FILE: ProbeWhenReady(ProcessFile(work, blobs), playback),
        ASSEMBLE_STREAM: ProbeWhenReady(AssembleStream(work, blobs, services.streams), playback),
        REDACT_FILE: RedactFile(services.render_worker, services.files, blobs, services.new_blobs),
    }
