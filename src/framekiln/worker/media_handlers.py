"""The handlers of sound and of finished films."""

from framekiln.jobs.model import Handler
from framekiln.renders.jobs import JOIN_RENDER, MIX_SOUND
from framekiln.renders.media_jobs import JoinRender, MixSound
from framekiln.services import Services
from framekiln.worker.render_parts import render_reuse, render_sources


def media_handlers(services: Services) -> dict[str, Handler]:
    """Return them by kind of job."""
    work, blobs = services.render_work, services.blobs
    return {
        MIX_SOUND: MixSound(work, blobs, render_sources(services), render_reuse(services)),
        JOIN_RENDER: JoinRender(work, blobs),
    }
