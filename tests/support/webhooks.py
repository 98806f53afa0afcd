"""Webhooks with a real database and queue, a clock that tests advance, and workers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

from framekiln.db.pool import Database
from framekiln.identity.service import Identity
from framekiln.jobs.model import WorkerPool
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import SystemClock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.webhooks.delivery_log import DeliveryLog
from framekiln.webhooks.handlers import SendWebhook, response_error
from framekiln.webhooks.jobs import IO_QUEUE, SEND_WEBHOOK
from framekiln.webhooks.model import (
    Delivery,
    DeliveryAttempt,
    Event,
    NewSubscription,
    Subscription,
    TakenDelivery,
)
from framekiln.webhooks.outbox import Outbox
from framekiln.webhooks.service import Webhooks
from framekiln.webhooks.worker import WebhookWorker
from tests.support.background import in_background
from tests.support.clock import SettableClock
from tests.support.jobs import FAST_TIMING
from tests.support.receiver import ReceivedRequest, Receiver
from tests.support.timeouts import TIMEOUT_S

LOOPBACK = GuardedFetcher(frozenset({"127.0.0.1"}))


@dataclass(frozen=True)
class WebhookHarness:
    """All parts of webhooks, and one organization with a key."""

    database: Database
    queue: JobQueue
    clock: SettableClock
    fetcher: GuardedFetcher
    organization_id: OrganizationId
    api_key_id: ApiKeyId

    @classmethod
    async def open(
        cls, database: Database, queue: JobQueue, fetcher: GuardedFetcher = LOOPBACK
    ) -> "WebhookHarness":
        """Open a harness; its clock starts at the present, because verifiers use theirs."""
        clock = SettableClock(SystemClock().now())
        organization_id, api_key_id = await _new_key(database, clock)
        return cls(database, queue, clock, fetcher, organization_id, api_key_id)

    async def other_organization(self) -> "WebhookHarness":
        """The same for another organization."""
        organization_id, api_key_id = await _new_key(self.database, self.clock)
        return replace(self, organization_id=organization_id, api_key_id=api_key_id)

    @property
    def outbox(self) -> Outbox:
        return Outbox(self.queue, clock=self.clock)

    @property
    def worker(self) -> WebhookWorker:
        return WebhookWorker(self.database, jobs=self.queue, clock=self.clock)

    @property
    def log(self) -> DeliveryLog:
        return DeliveryLog(self.database, jobs=self.queue, clock=self.clock)

    @property
    def service(self) -> Webhooks:
        return Webhooks(
            self.database,
            jobs=self.queue,
            outbox=self.outbox,
            fetcher=self.fetcher,
            clock=self.clock,
        )

    async def subscribe(
        self, url: str, *events: str, is_proven: bool = True, for_all: bool = False
    ) -> Subscription:
        """Subscribe; a proven subscription skips its trial. Call this before workers start."""
        subscription = await self.service.create(
            NewSubscription(
                self.organization_id,
                None if for_all else self.api_key_id,
                url,
                events or ("*",),
            )
        )
        if is_proven:
            await self.run_sql("DELETE FROM webhook_event")
            await self.run_sql("DELETE FROM procrastinate_jobs")
            await self.run_sql("UPDATE webhook_subscription SET is_proven = true")
        return subscription

    async def record_event(
        self, topic: str = "render.created", resource: UUID | None = None, **data: Any
    ) -> UUID:
        """Record an event in its own transaction; return its resource."""
        resource = resource or uuid4()
        event = Event(self.organization_id, self.api_key_id, topic, resource, data)
        async with self.database.transaction() as connection:
            await self.outbox.record(connection, event)
        return resource

    async def run_sql(self, statement: str) -> list[dict[str, Any]]:
        """Run a statement; return its rows."""
        async with self.database.connection() as connection:
            cursor = await connection.execute(statement.encode())
            return await cursor.fetchall() if cursor.description else []

    async def deliveries(self, subscription: Subscription) -> list[Delivery]:
        """Return the log, oldest first."""
        found = await self.log.page(
            self.organization_id, subscription.id, before_position=None, limit=1000
        )
        return found[::-1]

    async def statuses(self, subscription: Subscription) -> list[str]:
        """Return the status of each delivery, oldest first."""
        return [str(each.status) for each in await self.deliveries(subscription)]

    @asynccontextmanager
    async def running_workers(
        self, *, concurrency: int = 8, within_s: float = TIMEOUT_S
    ) -> AsyncIterator[None]:
        """Run workers during the block."""
        handler = SendWebhook(self.worker, self.fetcher, clock=self.clock, within_s=within_s)
        async with in_background(
            self.queue.run_worker(
                {SEND_WEBHOOK: handler},
                WorkerPool((IO_QUEUE,), concurrency),
                name="test",
                timing=FAST_TIMING,
            )
        ):
            yield

    async def wait_for_statuses(self, subscription: Subscription, *statuses: str) -> None:
        """Wait until the log has these statuses, oldest first."""
        found: list[str] = []
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while (found := await self.statuses(subscription)) != list(statuses):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"still {found}, not {list(statuses)}") from None

    async def wait_until_idle(self, *, jobs_left: int = 0) -> None:
        """Wait until workers have nothing left to do, except for jobs that hang."""
        async with asyncio.timeout(TIMEOUT_S):
            while len(await self.queue.list_jobs()) > jobs_left:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def take(self, subscription: Subscription, *, job_id: int = 1) -> TakenDelivery:
        """Take the next delivery, as a worker does."""
        found = await self.worker.take(subscription.id, job_id=job_id)
        assert found is not None
        return found

    async def finish(self, taken: TakenDelivery, *, status: int) -> None:
        """Record the result of a delivery."""
        attempt = DeliveryAttempt(
            number=taken.fence,
            url=taken.subscription.url,
            started_at=self.clock.now(),
            duration_ms=1,
            status=status,
            error=response_error(status),
            answer="",
        )
        await self.worker.finish(taken, attempt)


async def wait_for_requests(receiver: Receiver, count: int) -> list[ReceivedRequest]:
    """Return the requests when this many have arrived."""
    return await asyncio.to_thread(receiver.wait_for, count, timeout_s=TIMEOUT_S)


def data_of(request: ReceivedRequest) -> dict[str, Any]:
    """Return the data of an event."""
    found: dict[str, Any] = json.loads(request.body)["data"]
    return found


async def _new_key(database: Database, clock: SettableClock) -> tuple[OrganizationId, ApiKeyId]:
    identity = Identity(database, clock)
    organization = await identity.create_organization(f"org {uuid4()}")
    return organization.id, (await identity.create_key(organization.id, "test")).key.id
