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
from framekiln.jobs.failures import DATABASE_TIMEOUT_S
from framekiln.jobs.queue import JobQueue
from framekiln.webhooks.stores.delivery import lock_resource
from framekiln.webhooks.worker import OVERDUE_AFTER, SEND_TIMEOUT_S
from tests.support.jobs import sweep_recovers, wait_for_blocked, wait_until, worker_ids
from tests.support.receiver import NO_ANSWER, Answer, ReceivedRequest, Receiver
from tests.support.timeouts import TIMEOUT_S
from tests.support.webhooks import WebhookHarness, data_of, wait_for_requests

pytestmark = pytest.mark.spec("6")


@pytest.fixture
async def webhooks(database: Database, queue: JobQueue) -> WebhookHarness:
    return await WebhookHarness.open(database, queue)


class TestOrder:
    async def test_order_is_kept_per_resource_under_concurrency(
        self, webhooks: WebhookHarness, receiver: Receiver
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
            are_two.wait(TIMEOUT_S)
            time.sleep(dice.uniform(0, 0.03))
            with lock:
                busy[of] -= 1
            return Answer(500 if dice.random() < 0.1 else 200)

        receiver.answer_by(respond)
        subscription = await webhooks.subscribe(receiver.url())

        async def all_of(resource: str) -> None:
            for n in range(6):
                await webhooks.record_event("file.updated", UUID(resource), of=resource, n=n)

        async with webhooks.running_workers(concurrency=12):
            await asyncio.gather(*(all_of(resource) for resource in resources))
            while (statuses := set(await webhooks.statuses(subscription))) != {"delivered"}:
                # What takes 90 s by this clock would be taken for lost.
                if "sending" not in statuses:
                    webhooks.clock.advance(timedelta(seconds=60))
                    await webhooks.worker.queue_due()
                await asyncio.sleep(0.05)
        received = [data_of(request) for request in receiver.requests]
        for resource in resources:
            numbers = [each["n"] for each in received if each["of"] == resource]
            assert numbers == sorted(numbers)
            assert set(numbers) == set(range(6))
        assert together == 1
        assert 1 < most <= 4

    async def test_a_failure_blocks_only_its_own_resource(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer_by(lambda it: Answer(500 if data_of(it)["of"] == "a" else 200))
        subscription = await webhooks.subscribe(receiver.url())
        async with webhooks.running_workers():
            a = await webhooks.record_event(of="a", n=1)
            await webhooks.wait_until_idle()
            await webhooks.record_event(resource=a, of="a", n=2)
            await webhooks.record_event(of="b", n=1)
            await webhooks.worker.queue_due()
            await webhooks.wait_for_statuses(subscription, "pending", "pending", "delivered")
            await webhooks.wait_until_idle()
            assert [data_of(it) for it in receiver.requests] == [
                {"of": "a", "n": 1},
                {"of": "b", "n": 1},
            ]
            receiver.answer(Answer())
            webhooks.clock.advance(timedelta(seconds=10))
            await webhooks.worker.queue_due()
            await webhooks.wait_for_statuses(subscription, "delivered", "delivered", "delivered")
        assert [data_of(it) for it in receiver.requests][2:] == [
            {"of": "a", "n": 1},
            {"of": "a", "n": 2},
        ]


class TestIsolation:
    async def test_a_delivery_that_found_no_slot_is_queued_by_the_one_that_had_it(
        self, webhooks: WebhookHarness
    ) -> None:
        """It became due while the end of the other waited for a lock."""
        subscription = await webhooks.subscribe("https://example.com")
        await webhooks.run_sql("UPDATE webhook_subscription SET is_proven = false")
        first = await webhooks.record_event()
        taken = await webhooks.take(subscription)
        async with webhooks.database.transaction() as connection:
            await lock_resource(connection, str(first))
            ending = asyncio.create_task(webhooks.finish(taken, status=200))
            await wait_for_blocked(webhooks.database)
            webhooks.clock.advance(timedelta(milliseconds=1))
            await webhooks.record_event()
            # An unproven receiver gets one delivery at a time.
            assert await webhooks.worker.take(subscription.id, job_id=2) is None
            await webhooks.run_sql("DELETE FROM procrastinate_jobs")
        await ending
        assert len(await webhooks.queue.list_jobs()) == 1

    async def test_a_hanging_receiver_does_not_delay_others(self, webhooks: WebhookHarness) -> None:
        with Receiver() as hanging, Receiver() as working:
            hanging.answer(NO_ANSWER)
            stuck = await webhooks.subscribe(hanging.url())
            fine = await webhooks.subscribe(working.url())
            async with webhooks.running_workers(concurrency=6):
                for _ in range(12):
                    await webhooks.record_event()
                await webhooks.wait_for_statuses(fine, *["delivered"] * 12)
                await wait_for_requests(hanging, 4)
                assert len(hanging.requests) == 4
                assert sorted(await webhooks.statuses(stuck)) == ["pending"] * 8 + ["sending"] * 4

    async def test_many_deliveries_of_one_organization_do_not_delay_another(
        self, webhooks: WebhookHarness
    ) -> None:
        stranger = await webhooks.other_organization()
        with Receiver() as hanging, Receiver() as working:
            hanging.answer(NO_ANSWER)
            async with webhooks.running_workers(concurrency=6):
                for n in range(10):
                    await stranger.subscribe(hanging.url(f"/{n}"), is_proven=False)
                await wait_for_requests(hanging, 2)
                fine = await webhooks.subscribe(working.url(), is_proven=False)
                await webhooks.wait_for_statuses(fine, "delivered")
                for _ in range(6):
                    await stranger.worker.queue_due()
                    await webhooks.record_event()
                await webhooks.wait_for_statuses(fine, *["delivered"] * 7)
                assert len(hanging.requests) == 2

    async def test_a_failing_receiver_gets_one_delivery_at_a_time(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer_next(Answer(500))
        subscription = await webhooks.subscribe(receiver.url())
        async with webhooks.running_workers():
            await webhooks.record_event()
            await webhooks.wait_until_idle()
            receiver.answer(NO_ANSWER)
            for _ in range(3):
                await webhooks.record_event()
            for _ in range(3):
                await webhooks.worker.queue_due()
            await wait_for_requests(receiver, 2)
            await webhooks.wait_until_idle(jobs_left=1)
            assert len(receiver.requests) == 2
        assert (await webhooks.statuses(subscription)).count("sending") == 1


WORKER_PROCESS = """
import asyncio, sys
from framekiln.db.pool import Database
from framekiln.jobs.model import WorkerPool, WorkerTiming
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import SystemClock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.webhooks.handlers import SendWebhook
from framekiln.webhooks.worker import WebhookWorker

async def main():
    database, queue = Database(sys.argv[1]), JobQueue(sys.argv[1])
    await database.open()
    work = WebhookWorker(database, jobs=queue, clock=SystemClock())
    fetcher = GuardedFetcher(frozenset({"127.0.0.1"}))
    await queue.run_worker(
        {"webhook.send": SendWebhook(work, fetcher, clock=SystemClock())},
        WorkerPool(("io",), 4), name="victim",
        timing=WorkerTiming(heartbeat_s=0.2, poll_s=0.1),
    )

asyncio.run(main())
"""


class TestDeadWorkers:
    async def test_a_delivery_of_a_killed_worker_is_sent_again(
        self, webhooks: WebhookHarness, receiver: Receiver, conninfo: str
    ) -> None:
        receiver.answer_next(NO_ANSWER)
        subscription = await webhooks.subscribe(receiver.url())
        resource = await webhooks.record_event(n=1)
        await webhooks.record_event(resource=resource, n=2)
        victim = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", WORKER_PROCESS, conninfo]
        )
        try:
            await wait_for_requests(receiver, 1)
        finally:
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        dead = await worker_ids(webhooks.database)
        async with webhooks.running_workers():
            await wait_until(sweep_recovers(webhooks.queue, webhooks.database, dead))
            await webhooks.wait_for_statuses(subscription, "delivered", "delivered")
        assert [data_of(request)["n"] for request in receiver.requests] == [1, 1, 2]

    async def test_a_lost_job_is_queued_again(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        await webhooks.record_event()
        stale = await webhooks.take(subscription, job_id=-1)
        await webhooks.run_sql("DELETE FROM procrastinate_jobs")
        async with webhooks.running_workers():
            webhooks.clock.advance(OVERDUE_AFTER - timedelta(seconds=1))
            assert await webhooks.worker.queue_due() == 0
            webhooks.clock.advance(timedelta(seconds=1))
            assert await webhooks.worker.queue_due() == 1
            await webhooks.wait_for_statuses(subscription, "delivered")
        await webhooks.finish(stale, status=500)
        assert await webhooks.statuses(subscription) == ["delivered"]
        [delivery] = await webhooks.deliveries(subscription)
        detail = await webhooks.log.get(webhooks.organization_id, delivery.id)
        assert [attempt.number for attempt in detail.attempts] == [2]

    async def test_a_delivery_that_is_recorded_as_late_as_possible_is_not_sent_twice(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        await webhooks.record_event()
        sent = await webhooks.take(subscription, job_id=-1)
        webhooks.clock.advance(timedelta(seconds=SEND_TIMEOUT_S + DATABASE_TIMEOUT_S))
        assert await webhooks.worker.queue_due() == 0
        await webhooks.finish(sent, status=200)
        assert await webhooks.statuses(subscription) == ["delivered"]

    @pytest.mark.parametrize("status", [200, 500])
    async def test_a_worker_presumed_dead_changes_nothing(
        self, webhooks: WebhookHarness, receiver: Receiver, status: int
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        await webhooks.record_event()
        stale = await webhooks.take(subscription, job_id=-1)
        webhooks.clock.advance(OVERDUE_AFTER)
        await webhooks.worker.queue_due()
        current = await webhooks.take(subscription, job_id=-2)
        await webhooks.finish(stale, status=status)
        assert await webhooks.statuses(subscription) == ["sending"]
        await webhooks.finish(current, status=200)
        assert await webhooks.statuses(subscription) == ["delivered"]
