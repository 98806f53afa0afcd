"""The jobs of a render: render its slices, by several workers; mix its sound; join all parts.

A redaction is a single job.
"""

from typing import Final

from framekiln.jobs.model import NewJob
from framekiln.renders.model import Render

FILM_RENDER: Final = "render.film"
MIX_SOUND: Final = "render.sound"
JOIN_RENDER: Final = "render.join"
REDACT_FILE: Final = "render.redact"
FILM_QUEUE: Final = "render"
MEDIA_QUEUE: Final = "media"
REDACT_QUEUE: Final = "files"
"""A redaction takes as long as splitting a file, so it shares that queue."""

# The first worker of any render comes before the second of another, so that a long render with
# many slices does not block a short one.
_FIRST: Final = 0
_FURTHER: Final = -1


def film_job(render: Render, *, is_further: bool = False) -> NewJob:
    """Return the job of one worker on a render's slices."""
    priority = _FURTHER if is_further else _FIRST
    return NewJob(kind=FILM_RENDER, args=_args(render), queue=FILM_QUEUE, priority=priority)


def sound_job(render: Render) -> NewJob:
    """Return the job that mixes a render's sound."""
    return NewJob(kind=MIX_SOUND, args=_args(render), queue=MEDIA_QUEUE)


def join_job(render: Render) -> NewJob:
    """Return the job that joins slices and sound into the output."""
    return NewJob(kind=JOIN_RENDER, args=_args(render), queue=MEDIA_QUEUE)


def redact_job(render: Render) -> NewJob:
    """Return the job that makes a redacted copy of a file."""
    return NewJob(kind=REDACT_FILE, args=_args(render), queue=REDACT_QUEUE)


def _args(render: Render) -> dict[str, str]:
    return {"render_id": str(render.id), "organization_id": str(render.organization_id)}
