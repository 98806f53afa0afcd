"""Pools: how a worker process divides its concurrency among queues. Pure.

Jobs that use whole cores, and those that wait long for others, have places of their own: twenty
films that wait to be split, or twenty endpoints that take their time, must not keep a finished
render from being joined, nor somebody who presses play from the next segment.
"""

from dataclasses import dataclass
from typing import Final

HEAVY_QUEUES: Final = frozenset({"files", "speech", "playback", "steps", "endpoints"})

# Somebody waits for a segment. Asking an endpoint is nothing but waiting.
_EXTRA_SLOTS: Final = {"playback": 1, "endpoints": 63}
# Independent steps run side by side on the smallest machine, too. Light ones cost next to nothing.
_MIN_SLOTS: Final = {"steps": 2, "light_steps": 8}
# Whoever makes what is asked for also makes, in other places, what will be; whoever does steps also
# does, in other places, those that never wait for a heavy one.
_COMPANION_QUEUES: Final = {"playback": "ahead", "steps": "light_steps"}


@dataclass(frozen=True)
class WorkerPool:
    """Queues whose jobs share places."""

    queues: tuple[str, ...]
    concurrency: int


def worker_pools(queues: list[str], *, concurrency: int, slots: int) -> list[WorkerPool]:
    """Return the crews; `concurrency` is that of the light queues, or of the only one."""
    light = tuple(queue for queue in queues if queue not in HEAVY_QUEUES)
    heavy = [queue for queue in queues if queue in HEAVY_QUEUES]
    crews = [WorkerPool(light, concurrency)] if light else []
    if len(queues) == 1:
        crews = [WorkerPool(tuple(queues), concurrency)]
    else:
        crews += [_dedicated_pool(queue, slots) for queue in heavy]
    companions = [_COMPANION_QUEUES[queue] for queue in heavy if queue in _COMPANION_QUEUES]
    return crews + [_dedicated_pool(queue, slots) for queue in companions]


def _dedicated_pool(queue: str, slots: int) -> WorkerPool:
    return WorkerPool((queue,), max(slots + _EXTRA_SLOTS.get(queue, 0), _MIN_SLOTS.get(queue, 1)))
