"""The jobs of a render: render its slices, by several workers; mix its sound; join all parts.

A redaction is a single job.
"""

from typing import Final

from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.renders.model import Render

FILM_RENDER: Final = "render.film"
MIX_SOUND: Final = "render.sound"
JOIN_RENDER: Final = "render.join"
REDACT_FILE: Final = "render.redact"
FILM_QUEUE: Final = "render"
MEDIA_QUEUE: Final = "media"
SOUND_QUEUE: Final = "sound"
"""A mix decodes for minutes and waits for sources, so it takes no slot of webhooks and joins. Older
versions queued it with them; such jobs run there."""
REDACT_QUEUE: Final = "files"
"""A redaction takes as long as splitting a file, so it shares that queue."""

# The first worker of any render comes before the second of another, so that a long render with
# many slices does not block a short one.
_FIRST: Final = 0
_FURTHER: Final = -1


def film_job(
    organization_id: OrganizationId, render_id: RenderId, *, is_further: bool = False
) -> NewJob:
    """Return the job of one worker on a render's slices."""
    priority, args = _FURTHER if is_further else _FIRST, _args(organization_id, render_id)
    return NewJob(kind=FILM_RENDER, args=args, queue=FILM_QUEUE, priority=priority)


def sound_job(render: Render) -> NewJob:
    """Return the job that mixes a render's sound."""
    return NewJob(kind=MIX_SOUND, args=_args_of(render), queue=SOUND_QUEUE)


def join_job(render: Render) -> NewJob:
    """Return the job that joins slices and sound into the output."""
    return NewJob(kind=JOIN_RENDER, args=_args_of(render), queue=MEDIA_QUEUE)


def redact_job(organization_id: OrganizationId, render_id: RenderId) -> NewJob:
    """Return the job that makes a redacted copy of a file."""
    return NewJob(kind=REDACT_FILE, args=_args(organization_id, render_id), queue=REDACT_QUEUE)


def _args_of(render: Render) -> dict[str, str]:
    return _args(render.organization_id, render.id)


def _args(organization_id: OrganizationId, render_id: RenderId) -> dict[str, str]:
    return {"render_id": str(render_id), "organization_id": str(organization_id)}
