"""What happens on a timer, in whichever control worker holds the lock."""

import asyncio
from typing import Final

import structlog

from framekiln.db.pool import DatabaseUnavailable
from framekiln.services import Services

log = structlog.get_logger(__name__)

CONTROL_QUEUE: Final = "control"
_TICK_S: Final = 2.0


async def run_schedule(services: Services) -> None:
    """Tick until cancelled; a database that is away only delays the next tick."""
    while True:
        try:
            await tick(services)
        except DatabaseUnavailable:
            log.warning("schedule waits for the database")
        await asyncio.sleep(_TICK_S)


async def tick(services: Services) -> None:
    """Give jobs of dead workers back to living ones."""
    recovered = await services.jobs.sweep_stalled()
    if recovered:
        log.warning("took jobs back from dead workers", count=recovered)
