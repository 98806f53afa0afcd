"""The jobs of playback: look at a source, make one segment of it."""

from typing import Final

from framekiln.jobs.model import NewJob
from framekiln.playback.model import SegmentName, Source

LOOK: Final = "playback.look"
MAKE: Final = "playback.segment"
QUEUE: Final = "playback"
# Places of its own: nobody who waits finds them taken by what nobody has asked for.
AHEAD_QUEUE: Final = "ahead"

# Somebody waits for what was asked for; what comes next is made in the meantime, nearest first.
_LOOK_PRIORITY: Final = 20
_ASKED_PRIORITY: Final = 10
# Nobody has even opened it.
_FORESEEN_PRIORITY: Final = -100


def look_job(source: Source, *, is_ahead: bool = False) -> NewJob:
    """Return the job that finds out what a source is; `is_ahead` if nobody waits for it."""
    key = f"{LOOK}:{source.id}"
    return NewJob(
        kind=LOOK,
        args={"source_id": str(source.id), "is_ahead": is_ahead},
        queue=AHEAD_QUEUE if is_ahead else QUEUE,
        priority=_FORESEEN_PRIORITY if is_ahead else _LOOK_PRIORITY,
        dedupe_key=f"{key}:ahead" if is_ahead else key,
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
            "is_ahead": ahead > 0,
        },
        queue=AHEAD_QUEUE if ahead else QUEUE,
        priority=-ahead if ahead else _ASKED_PRIORITY,
        dedupe_key=f"{key}:ahead" if ahead else key,
    )
