"""Pools: how a worker process divides its concurrency among queues. Pure.

Jobs that use whole cores, and those that wait long for others, have slots of their own: twenty
uploads to be split, twenty slow endpoints or twenty silent buckets must not delay the last step of
a render, or the next segment of a player.
"""

from typing import Final

from framekiln.jobs.model import WorkerPool

HEAVY_QUEUES: Final = frozenset({"files", "speech", "playback", "steps", "endpoints"})

# A player waits for a segment. A request to an endpoint, a copy of an output and a
# download are mostly waiting.
_EXTRA_SLOTS: Final = {"playback": 1, "endpoints": 63, "destinations": 31, "sources": 31}
# Independent steps, and mixes, run in parallel even on the smallest machine. Light steps cost
# almost nothing.
_MIN_SLOTS: Final = {"steps": 2, "light_steps": 8, "sound": 2}
# A worker of the first queue also serves the others, with slots of their own: copies of outputs,
# mixes of sound, segments made ahead of a player, downloads of sources, and steps that must never
# wait for a heavy one.
_COMPANION_QUEUES: Final = {
    "io": ("destinations",),
    "media": ("sound", "sources"),
    "playback": ("ahead", "sources"),
    "render": ("sources",),
    "steps": ("light_steps",),
}

RESERVED_SLOTS: Final = {
    "render": 1,
    "playback": 1,
    "endpoints": 8,
    "destinations": 8,
    "sources": 8,
    "sound": 1,
}
"""A page that never gets ready, or a silent server, must not keep other organizations waiting."""


def worker_pools(queues: list[str], *, concurrency: int, slots: int) -> list[WorkerPool]:
    """Return the pools; `concurrency` is that of the light queues, or of the only one."""
    light = tuple(queue for queue in queues if queue not in HEAVY_QUEUES)
    heavy = [queue for queue in queues if queue in HEAVY_QUEUES]
    pools = [WorkerPool(light, concurrency)] if light else []
    if len(queues) == 1:
        pools = [WorkerPool(tuple(queues), concurrency, RESERVED_SLOTS.get(queues[0], 0))]
    else:
        pools += [_dedicated_pool(queue, slots) for queue in heavy]
    companions = dict.fromkeys(
        other for queue in queues for other in _COMPANION_QUEUES.get(queue, ())
    )
    return pools + [_dedicated_pool(queue, slots) for queue in companions]


def _dedicated_pool(queue: str, slots: int) -> WorkerPool:
    count = max(slots + _EXTRA_SLOTS.get(queue, 0), _MIN_SLOTS.get(queue, 1))
    return WorkerPool((queue,), count, RESERVED_SLOTS.get(queue, 0))
