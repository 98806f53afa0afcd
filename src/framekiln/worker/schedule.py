"""Periodic work of every control worker; each part may run twice at once."""

import asyncio
from itertools import count
from typing import Final

import structlog

from framekiln.kit.errors import FramekilnError
from framekiln.services import Services

log = structlog.get_logger(__name__)

CONTROL_QUEUE: Final = "control"
_TICK_S: Final = 2.0
_WAKE_TIMEOUT_S: Final = 60.0
_EXPIRY_EVERY_TICKS: Final = 30


async def run_schedule(services: Services) -> None:
    """Run the periodic work, and process changes of runs, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_run_ticks(services))
        tasks.create_task(_process_changes(services))


async def _run_ticks(services: Services) -> None:
    """Tick for ever; work that fails is done by the next tick."""
    for number in count():
        try:
            await tick(services)
            if number % _EXPIRY_EVERY_TICKS == 0:
                await remove_expired(services)
        except FramekilnError as error:
            log.warning("schedule.tick_failed", reason=error.message)
        await asyncio.sleep(_TICK_S)


async def _process_changes(services: Services) -> None:
    """Advance runs as soon as something has changed; the tick does what is missed here."""
    async with services.pipelines.changes.follow() as follower:
        while True:
            if await follower.wait(_WAKE_TIMEOUT_S):
                try:
                    await services.pipelines.changes.process()
                except FramekilnError as error:
                    log.warning("schedule.changes_failed", reason=error.message)


async def tick(services: Services) -> None:
    """Release the jobs of dead workers, and queue everything that is due."""
    await services.jobs.sweep_stalled()
    await services.webhook_worker.queue_due()
    await services.pipelines.tick()


async def remove_expired(services: Services) -> None:
    """Remove all that has expired, in every domain, and queue what was lost."""
    renders = await services.renders.remove_expired()
    assets = await services.ingest.remove_expired()
    files = await services.files.remove_expired()
    await services.webhook_worker.remove_old()
    await services.callbacks.remove_idle()
    await services.sessions.remove_expired()
    await services.links.remove_expired()
    await services.audit.remove_old()
    await services.streams.fail_abandoned()
    await services.playback.remove_unused()
    await services.part_cache.evict_unused()
    await services.quotas.remove_old()
    await services.v2.bulks.queue_running()
    if renders or assets or files:
        log.info("schedule.expired_removed", renders=renders, assets=assets, files=files)
