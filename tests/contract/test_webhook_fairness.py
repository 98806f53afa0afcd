"""Deliveries under strain: order is kept, nobody waits for others, death loses nothing."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from threading import Event, Lock
from uuid import UUID, uuid4

import pytest

from framekiln.db.pool import Database
from framekiln.jobs.queue import JobQueue
from tests.support.jobs import eventually, gives_back, worker_ids
from tests.support.patience import PATIENCE_S
from tests.support.receiver import NO_ANSWER, Answer, ReceivedRequest, Receiver
from tests.support.webhooks import PostOffice, arrivals, data_of

pytestmark = pytest.mark.spec("6")


@pytest.fixture
async def office(database: Database, queue: JobQueue) -> PostOffice:
    return await PostOffice.open(database, queue)


class TestOrder:
    async def test_is_kept_for_each_resource_under_concurrency(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        resources = [str(uuid4()) for _ in range(6)]
        busy, most, together = Counter[str](), 0, 0
        dice, lock, are_two = random.Random(6), Lock(), Event()

        def respond(request: ReceivedRequest) -> Answer:
            nonlocal most, together
            of = data_of(request)["of"]
            with lock:
                busy[of] += 1
                most, together = max(most, busy.total()), max(together, busy[of])
                if most > 1:
                    are_two.set()
            # The first waits for another beside it.
            are_two.wait(PATIENCE_S)
            time.sleep(dice.uniform(0, 0.03))
            with lock:
                busy[of] -= 1
            return Answer(500 if dice.random() < 0.1 else 200)

        receiver.answer_by(respond)
        subscription = await office.subscribe(receiver.url())

        async def all_of(resource: str) -> None:
            for n in range(6):
                await office.happens("file.updated", UUID(resource), of=resource, n=n)

        async with office.working(concurrency=12):
            await asyncio.gather(*(all_of(resource) for resource in resources))
            while (statuses := set(await office.statuses(subscription))) != {"delivered"}:
                # What takes 90 s by this clock would be taken for lost.
                if "sending" not in statuses:
                    office.clock.advance(timedelta(seconds=60))
                    await office.work.send_due()
                await asyncio.sleep(0.05)
        told = [data_of(request) for request in receiver.requests]
        for resource in resources:
            numbers = [each["n"] for each in told if each["of"] == resource]
            assert numbers == sorted(numbers)
            assert set(numbers) == set(range(6))
        assert together == 1
        assert 1 < most <= 4

    async def test_what_fails_holds_up_its_own_resource_only(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        receiver.answer_by(lambda it: Answer(500 if data_of(it)["of"] == "a" else 200))
        subscription = await office.subscribe(receiver.url())
        async with office.working():
            a = await office.happens(of="a", n=1)
            await office.idle()
            await office.happens(resource=a, of="a", n=2)
            await office.happens(of="b", n=1)
            await office.work.send_due()
            await office.settle(subscription, "pending", "pending", "delivered")
            await office.idle()
            assert [data_of(it) for it in receiver.requests] == [
                {"of": "a", "n": 1},
                {"of": "b", "n": 1},
            ]
            receiver.answer(Answer())
            office.clock.advance(timedelta(seconds=10))
            await office.work.send_due()
            await office.settle(subscription, "delivered", "delivered", "delivered")
        assert [data_of(it) for it in receiver.requests][2:] == [
            {"of": "a", "n": 1},
            {"of": "a", "n": 2},
        ]


class TestNobodyWaits:
    async def test_for_a_receiver_that_hangs(self, office: PostOffice) -> None:
        with Receiver() as hanging, Receiver() as working:
            hanging.answer(NO_ANSWER)
            stuck = await office.subscribe(hanging.url())
            fine = await office.subscribe(working.url())
            async with office.working(concurrency=6):
                for _ in range(12):
                    await office.happens()
                await office.settle(fine, *["delivered"] * 12)
                await arrivals(hanging, 4)
                assert len(hanging.requests) == 4
                assert sorted(await office.statuses(stuck)) == ["pending"] * 8 + ["sending"] * 4

    async def test_for_many_of_somebody_else(self, office: PostOffice) -> None:
        stranger = await office.elsewhere()
        with Receiver() as hanging, Receiver() as working:
            hanging.answer(NO_ANSWER)
            async with office.working(concurrency=6):
                for n in range(10):
                    await stranger.subscribe(hanging.url(f"/{n}"), is_proven=False)
                await arrivals(hanging, 2)
                fine = await office.subscribe(working.url(), is_proven=False)
                await office.settle(fine, "delivered")
                for _ in range(6):
                    await stranger.work.send_due()
                    await office.happens()
                await office.settle(fine, *["delivered"] * 7)
                assert len(hanging.requests) == 2

    async def test_one_at_a_time_while_it_fails(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        receiver.answer_next(Answer(500))
        subscription = await office.subscribe(receiver.url())
        async with office.working():
            await office.happens()
            await office.idle()
            receiver.answer(NO_ANSWER)
            for _ in range(3):
                await office.happens()
            for _ in range(3):
                await office.work.send_due()
            await arrivals(receiver, 2)
            await office.idle(jobs_left=1)
            assert len(receiver.requests) == 2
        assert (await office.statuses(subscription)).count("sending") == 1


WORKER_PROCESS = """
import asyncio, sys
from framekiln.db.pool import Database
from framekiln.jobs.model import WorkerPace
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import SystemClock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.webhooks.sending import SendWebhook
from framekiln.webhooks.work import WebhookWork

async def main():
    database, queue = Database(sys.argv[1]), JobQueue(sys.argv[1])
    await database.open()
    work = WebhookWork(database, jobs=queue, clock=SystemClock())
    fetcher = GuardedFetcher(frozenset({"127.0.0.1"}))
    await queue.run_worker(
        {"webhook.send": SendWebhook(work, fetcher, clock=SystemClock())},
        queues=["io"], concurrency=4, name="victim",
        pace=WorkerPace(heartbeat_s=0.2, poll_s=0.1),
    )

asyncio.run(main())
"""


class TestDeadWorkers:
    async def test_killed_while_sending(
        self, office: PostOffice, receiver: Receiver, conninfo: str
    ) -> None:
        receiver.answer_next(NO_ANSWER)
        subscription = await office.subscribe(receiver.url())
        resource = await office.happens(n=1)
        await office.happens(resource=resource, n=2)
        victim = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", WORKER_PROCESS, conninfo]
        )
        try:
            await arrivals(receiver, 1)
        finally:
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        dead = await worker_ids(office.database)
        async with office.working():
            await eventually(gives_back(office.queue, office.database, dead))
            await office.settle(subscription, "delivered", "delivered")
        assert [data_of(request)["n"] for request in receiver.requests] == [1, 1, 2]

    async def test_a_job_lost_altogether_is_made_up_for(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        subscription = await office.subscribe(receiver.url())
        await office.happens()
        stale = await office.take(subscription, job_id=-1)
        await office.run("DELETE FROM procrastinate_jobs")
        async with office.working():
            office.clock.advance(timedelta(seconds=89))
            assert await office.work.send_due() == 0
            office.clock.advance(timedelta(seconds=1))
            assert await office.work.send_due() == 1
            await office.settle(subscription, "delivered")
        await office.end(stale, status=500)
        assert await office.statuses(subscription) == ["delivered"]
        [delivery] = await office.deliveries(subscription)
        detail = await office.log.get(office.organization_id, delivery.id)
        assert [attempt.number for attempt in detail.attempts] == [2]

    @pytest.mark.parametrize("status", [200, 500])
    async def test_whoever_was_taken_for_dead_changes_nothing(
        self, office: PostOffice, receiver: Receiver, status: int
    ) -> None:
        subscription = await office.subscribe(receiver.url())
        await office.happens()
        stale = await office.take(subscription, job_id=-1)
        office.clock.advance(timedelta(seconds=90))
        await office.work.send_due()
        current = await office.take(subscription, job_id=-2)
        await office.end(stale, status=status)
        assert await office.statuses(subscription) == ["sending"]
        await office.end(current, status=200)
        assert await office.statuses(subscription) == ["delivered"]
