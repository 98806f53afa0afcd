"""The jobs of a render: render its slices, by several workers; mix its sound; join all parts.

A film or a mix that waits for slow servers gives up its slot for a download job, which queues it
again. A redaction is a single job.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from framekiln.files.jobs import SOURCES_QUEUE
from framekiln.jobs.model import NewJob
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.renders.model import Render

FILM_RENDER: Final = "render.film"
MIX_SOUND: Final = "render.sound"
JOIN_RENDER: Final = "render.join"
FETCH_SOURCES: Final = "render.sources"
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


FetchResults = Mapping[str, dict[str, Any] | None]
"""The URLs that a download job has tried, each with its error (`describe_error`)."""


def film_job(
    organization_id: OrganizationId,
    render_id: RenderId,
    *,
    is_further: bool = False,
    fetched: FetchResults | None = None,
) -> NewJob:
    """Return the job of one worker on a render's slices."""
    priority, args = _FURTHER if is_further else _FIRST, _args(organization_id, render_id)
    return NewJob(FILM_RENDER, {**args, **_fetched(fetched)}, FILM_QUEUE, priority)


def sound_job(render: Render, *, fetched: FetchResults | None = None) -> NewJob:
    """Return the job that mixes a render's sound."""
    return NewJob(MIX_SOUND, {**_args_of(render), **_fetched(fetched)}, SOUND_QUEUE)


def job_with_sources(render: Render, kind: str, fetched: FetchResults) -> NewJob:
    """Return the job of this kind that continues after its sources were downloaded."""
    if kind == MIX_SOUND:
        return sound_job(render, fetched=fetched)
    return film_job(render.organization_id, render.id, fetched=fetched)


def sources_job(
    render: Render, urls: Sequence[str], *, then: str, fetched: FetchResults | None = None
) -> NewJob:
    """Return the job that downloads sources, and then queues a job of the kind `then` again."""
    return NewJob(
        kind=FETCH_SOURCES,
        args={**_args_of(render), "urls": list(urls), "then": then, **_fetched(fetched)},
        queue=SOURCES_QUEUE,
        dedupe_key=f"{FETCH_SOURCES}:{render.id}:{then}",
    )


def join_job(render: Render) -> NewJob:
    """Return the job that joins slices and sound into the output."""
    return NewJob(kind=JOIN_RENDER, args=_args_of(render), queue=MEDIA_QUEUE)


def redact_job(organization_id: OrganizationId, render_id: RenderId) -> NewJob:
    """Return the job that makes a redacted copy of a file."""
    return NewJob(kind=REDACT_FILE, args=_args(organization_id, render_id), queue=REDACT_QUEUE)


def _fetched(results: FetchResults | None) -> dict[str, FetchResults]:
    return {"fetched": results} if results else {}


def _args_of(render: Render) -> dict[str, str]:
    return _args(render.organization_id, render.id)


def _args(organization_id: OrganizationId, render_id: RenderId) -> dict[str, str]:
    return {"render_id": str(render_id), "organization_id": str(organization_id)}
