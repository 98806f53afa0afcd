"""Sound is mixed in slots of its own."""

from dataclasses import replace

from framekiln.jobs.model import JobStatus, NewJob
from framekiln.kit.ids import RenderId, new_uuid
from framekiln.renders.jobs import (
    JOIN_RENDER,
    MEDIA_QUEUE,
    MIX_SOUND,
    SOUND_QUEUE,
    join_job,
    sound_job,
)
from framekiln.worker.pools import worker_pools
from tests.support.app import AppHarness, running_worker
from tests.support.jobs import is_empty, wait_until
from tests.support.planned_renders import discard, has_sound, planned

HOURS_MS = 6 * 3600 * 1000


async def test_sound_of_one_organization_stops_neither_joins_nor_sound_of_others(
    app: AppHarness,
) -> None:
    """Twenty mixes took all slots of webhooks and joins, and most of them only waited."""
    jobs, stranger = app.services.jobs, await app.other_organization()
    slots = slots_of_sound(app)
    long = [await planned(stranger, HOURS_MS) for _ in range(slots + 1)]

    async def is_full() -> bool:
        return len(await jobs.list_jobs(kind=MIX_SOUND, status=JobStatus.DOING)) == slots

    async with running_worker(app.services, ["media"]):
        await wait_until(is_full)
        nothing = replace(long[0], id=RenderId(new_uuid()))
        await defer(app, join_job(nothing))

        async def is_joined() -> bool:
            return not await jobs.list_jobs(kind=JOIN_RENDER)

        await wait_until(is_joined)
        wanted = await planned(app, 100)
        await wait_until(lambda: has_sound(app, wanted))
        assert not any([await has_sound(app, render) for render in long])
        for render in long:
            await discard(app, render)
        await wait_until(is_empty(jobs))


async def test_a_mix_queued_by_an_older_version_is_made(app: AppHarness) -> None:
    render = await planned(app, 200)
    for job in await app.services.jobs.list_jobs(kind=MIX_SOUND):
        await app.services.jobs.cancel(job.job_id)
    await defer(app, replace(sound_job(render), queue=MEDIA_QUEUE))
    async with running_worker(app.services, ["media"]):
        await wait_until(lambda: has_sound(app, render))
        await wait_until(is_empty(app.services.jobs))


def slots_of_sound(app: AppHarness) -> int:
    """Return how many mixes of one organization a worker makes at a time."""
    pools = worker_pools(["media"], concurrency=1, slots=app.services.settings.slots)
    [slots] = [pool.concurrency for pool in pools if pool.queues == (SOUND_QUEUE,)]
    return slots


async def defer(app: AppHarness, job: NewJob) -> None:
    async with app.services.database.transaction() as connection:
        await app.services.jobs.defer(connection, job)
