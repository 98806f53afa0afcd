"""The jobs of playback: download a source, probe it, make one of its segments."""

from typing import Final

from framekiln.files.jobs import SOURCES_QUEUE
from framekiln.jobs.model import NewJob
from framekiln.playback.model import PlaybackSource, SegmentName

FETCH_SOURCE: Final = "playback.fetch"
PROBE_SOURCE: Final = "playback.look"
MAKE_SEGMENT: Final = "playback.segment"
QUEUE: Final = "playback"
# A separate queue, so that background work never takes the slots of requested work.
AHEAD_QUEUE: Final = "ahead"

# Requested segments come first; the following ones are made in the meantime, nearest first.
_PROBE_PRIORITY: Final = 20
_REQUESTED_PRIORITY: Final = 10
# The lowest priority: the source has not been opened yet.
_PREPROBE_PRIORITY: Final = -100


def fetch_job(source: PlaybackSource) -> NewJob:
    """Return the job that downloads a source, and then queues its probe."""
    return NewJob(
        kind=FETCH_SOURCE,
        args={"source_id": str(source.id), "organization_id": str(source.organization_id)},
        queue=SOURCES_QUEUE,
        dedupe_key=f"{FETCH_SOURCE}:{source.id}",
    )


def probe_job(
    source: PlaybackSource, *, language: str | None = None, is_ahead: bool = False
) -> NewJob:
    """Return the job that probes a source; `is_ahead` if no request waits for it.

    `language` is that of the audio, if it is known without the file.
    """
    key = f"{PROBE_SOURCE}:{source.id}"
    return NewJob(
        kind=PROBE_SOURCE,
        args={
            "source_id": str(source.id),
            "organization_id": str(source.organization_id),
            "language": language,
            "is_ahead": is_ahead,
        },
        queue=AHEAD_QUEUE if is_ahead else QUEUE,
        priority=_PREPROBE_PRIORITY if is_ahead else _PROBE_PRIORITY,
        dedupe_key=f"{key}:ahead" if is_ahead else key,
    )


def segment_job(source: PlaybackSource, name: SegmentName, *, ahead: int = 0) -> NewJob:
    """Return the job that makes a segment, `ahead` segments before it is requested.

    A requested segment is queued even if it already waits as background work.
    """
    key = f"{MAKE_SEGMENT}:{source.id}:{name.rendition_id}:{name.number}"
    return NewJob(
        kind=MAKE_SEGMENT,
        args={
            "source_id": str(source.id),
            "organization_id": str(source.organization_id),
            "rendition": name.rendition_id,
            "number": name.number,
            "is_ahead": ahead > 0,
        },
        queue=AHEAD_QUEUE if ahead else QUEUE,
        priority=-ahead if ahead else _REQUESTED_PRIORITY,
        dedupe_key=f"{key}:ahead" if ahead else key,
    )
