"""What happens on a timer, in every control worker: each step bears being done twice at once."""

import asyncio
from itertools import count
from typing import Final

import structlog

from framekiln.kit.errors import FramekilnError
from framekiln.services import Services

log = structlog.get_logger(__name__)

CONTROL_QUEUE: Final = "control"
_TICK_S: Final = 2.0
_REAP_EVERY_TICKS: Final = 30


async def run_schedule(services: Services) -> None:
    """Tick until cancelled; what cannot be done now is done with the next tick."""
    for number in count():
        try:
            await tick(services)
            if number % _REAP_EVERY_TICKS == 0:
                await reap(services)
        except FramekilnError as error:
            log.warning("schedule waits", reason=error.message)
        await asyncio.sleep(_TICK_S)


async def tick(services: Services) -> None:
    """Give jobs of dead workers back to living ones, and see what has become due."""
    recovered = await services.jobs.sweep_stalled()
    if recovered:
        log.warning("took jobs back from dead workers", count=recovered)
    await services.webhook_work.send_due()


async def reap(services: Services) -> None:
    """Remove what has expired."""
    renders = await services.renders.remove_expired()
    assets = await services.ingest.remove_expired()
    files = await services.files.remove_expired()
    await services.webhook_work.remove_old()
    if renders or assets or files:
        log.info("removed what had expired", renders=renders, assets=assets, files=files)
