"""One worker process: takes jobs from its queues until it is told to stop."""

import asyncio
import os
import platform
from contextlib import AsyncExitStack

import structlog

from framekiln.services import Services
from framekiln.worker.handlers import open_handlers
from framekiln.worker.pools import worker_pools
from framekiln.worker.schedule import CONTROL_QUEUE, run_schedule

log = structlog.get_logger(__name__)


async def run_worker(services: Services, *, queues: list[str], concurrency: int) -> None:
    """Work until cancelled; a control worker also keeps the schedule."""
    async with AsyncExitStack() as stack:
        handlers = await stack.enter_async_context(
            open_handlers(services, queues=queues, concurrency=concurrency)
        )
        async with asyncio.TaskGroup() as tasks:
            for crew in worker_pools(
                queues, concurrency=concurrency, slots=services.settings.slots
            ):
                log.info("worker started", queues=crew.queues, concurrency=crew.concurrency)
                tasks.create_task(
                    services.jobs.run_worker(
                        handlers,
                        queues=crew.queues,
                        concurrency=crew.concurrency,
                        name=f"{platform.node()}:{os.getpid()}:{','.join(crew.queues)}",
                    )
                )
            if CONTROL_QUEUE in queues:
                tasks.create_task(run_schedule(services))
