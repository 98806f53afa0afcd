"""The jobs of playback: look at a source, make one segment of it."""

from typing import Final

from framekiln.jobs.model import NewJob
from framekiln.playback.model import SegmentName, Source

LOOK: Final = "playback.look"
MAKE: Final = "playback.segment"
QUEUE: Final = "playback"

# Somebody waits for what was asked for; what comes next is made in the meantime, nearest first.
_LOOK_PRIORITY: Final = 20
_ASKED_PRIORITY: Final = 10


def look_job(source: Source) -> NewJob:
    """Return the job that finds out what a source is."""
    return NewJob(
        kind=LOOK,
        args={"source_id": str(source.id)},
        queue=QUEUE,
        priority=_LOOK_PRIORITY,
        dedupe_key=f"{LOOK}:{source.id}",
    )


def segment_job(source: Source, name: SegmentName, *, ahead: int = 0) -> NewJob:
    """Return the job that makes a segment, `ahead` segments before it is asked for.

    One that is asked for is queued even if it already waits as one that is not.
    """
    key = f"{MAKE}:{source.id}:{name.rendition_id}:{name.number}"
    return NewJob(
        kind=MAKE,
        args={
            "source_id": str(source.id),
            "rendition": name.rendition_id,
            "number": name.number,
        },
        queue=QUEUE,
        priority=-ahead if ahead else _ASKED_PRIORITY,
        dedupe_key=f"{key}:ahead" if ahead else key,
    )
