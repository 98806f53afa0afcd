"""How a worker process divides its places among queues. Pure.

Jobs that use whole cores, and those that wait long for others, have places of their own: twenty
films that wait to be split, or twenty endpoints that take their time, must not keep a finished
render from being joined, nor somebody who presses play from the next segment.
"""

from dataclasses import dataclass
from typing import Final

HEAVY_QUEUES: Final = frozenset({"files", "speech", "playback", "steps", "endpoints"})

# Somebody waits for a segment, while the next ones are made ahead of need. Asking an endpoint is
# nothing but waiting.
_MORE: Final = {"playback": 1, "endpoints": 63}


@dataclass(frozen=True)
class Crew:
    """Queues whose jobs share places."""

    queues: tuple[str, ...]
    concurrency: int


def crews_of(queues: list[str], *, concurrency: int, slots: int) -> list[Crew]:
    """Return the crews; `concurrency` is that of the light queues, or of the only one."""
    light = tuple(queue for queue in queues if queue not in HEAVY_QUEUES)
    heavy = [queue for queue in queues if queue in HEAVY_QUEUES]
    if len(queues) == 1:
        return [Crew(tuple(queues), concurrency)]
    crews = [Crew(light, concurrency)] if light else []
    return crews + [Crew((queue,), slots + _MORE.get(queue, 0)) for queue in heavy]
