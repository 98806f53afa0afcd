"""One worker process: runs the jobs of its queues until it is stopped."""

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
    """Run jobs until cancelled; a control worker also runs the schedule."""
    async with AsyncExitStack() as stack:
        handlers = await stack.enter_async_context(
            open_handlers(services, queues=queues, concurrency=concurrency)
        )
        pools = worker_pools(queues, concurrency=concurrency, slots=services.settings.slots)
        for pool in pools:
            log.info("worker.started", queues=pool.queues, concurrency=pool.concurrency)
        name = f"{platform.node()}:{os.getpid()}"
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(services.jobs.run_worker(handlers, *pools, name=name))
            if CONTROL_QUEUE in queues:
                tasks.create_task(run_schedule(services))
