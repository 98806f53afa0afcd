"""Periodic work of every control worker; each part may run twice at once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import structlog

from framekiln.kit.errors import FramekilnError
from framekiln.services import Services

log = structlog.get_logger(__name__)

CONTROL_QUEUE: Final = "control"
_TICK_S: Final = 2.0
_EXPIRY_S: Final = 60.0
_WAKE_TIMEOUT_S: Final = 60.0

Part = Callable[[], Awaitable[Any]]


async def run_schedule(services: Services) -> None:
    """Run the periodic work, and process changes of runs, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_repeat(lambda: tick(services), every_s=_TICK_S))
        # On its own: a store that responds slowly must not delay what is due.
        tasks.create_task(_repeat(lambda: remove_expired(services), every_s=_EXPIRY_S))
        tasks.create_task(_process_changes(services))


async def _repeat(work: Callable[[], Awaitable[None]], *, every_s: float) -> None:
    """Repeat work for ever; a part that fails runs again with the next repetition."""
    while True:
        await work()
        await asyncio.sleep(every_s)


async def _process_changes(services: Services) -> None:
    """Advance runs as soon as something has changed; the tick does what is missed here."""
    async with services.pipelines.changes.follow() as follower:
        while True:
            if await follower.wait(_WAKE_TIMEOUT_S):
                await _run_each({"changes": services.pipelines.changes.process})


async def tick(services: Services) -> None:
    """Release the jobs of dead workers, and queue everything that is due."""
    await _run_each(
        {
            "jobs": services.jobs.sweep_stalled,
            "webhooks": services.webhook_worker.queue_due,
            **services.pipelines.periodic_work(),
        }
    )


async def remove_expired(services: Services) -> None:
    """Remove all that has expired, in every domain, and queue what was lost."""
    removed = await _run_each(
        {
            "renders": services.renders.remove_expired,
            "assets": services.ingest.remove_expired,
            "files": services.files.remove_expired,
            "webhooks": services.webhook_worker.remove_old,
            "callbacks": services.callbacks.remove_idle,
            "sessions": services.sessions.remove_expired,
            "links": services.links.remove_expired,
            "audit": services.audit.remove_old,
            "streams": services.streams.fail_abandoned,
            "playback": services.playback.remove_unused,
            "part_cache": services.part_cache.evict_unused,
            "quotas": services.quotas.remove_old,
            "blobs": services.blob_deletions.run_all,
            "bulks": services.v2.bulks.queue_running,
        }
    )
    counts = {name: removed.get(name, 0) for name in ("renders", "assets", "files")}
    if any(counts.values()):
        log.info("schedule.expired_removed", **counts)


async def _run_each(parts: Mapping[str, Part]) -> dict[str, Any]:
    """Run parts one after the other and return their results; one that fails stops no other."""
    results = {}
    for name, part in parts.items():
        try:
            results[name] = await part()
        except FramekilnError as error:
            log.warning("schedule.part_failed", part=name, reason=error.message)
        except Exception:
            # Anything else, such as a deadlock, would end the worker and all its running jobs.
            log.exception("schedule.part_failed", part=name)
    return results
