"""Webhooks over a real database and queue, with a clock that a test moves and workers it starts."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

from framekiln.db.pool import Database
from framekiln.identity.service import Identity
from framekiln.jobs.queue import JobQueue
from framekiln.kit.clock import SystemClock
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.webhooks.jobs import IO_QUEUE, SEND_WEBHOOK
from framekiln.webhooks.log import DeliveryLog
from framekiln.webhooks.model import (
    Attempt,
    Delivery,
    Event,
    NewSubscription,
    Subscription,
    Taken,
)
from framekiln.webhooks.outbox import Outbox
from framekiln.webhooks.sending import SendWebhook, complaint
from framekiln.webhooks.service import Webhooks
from framekiln.webhooks.work import WebhookWork
from tests.support.clock import SettableClock
from tests.support.jobs import QUICK
from tests.support.patience import PATIENCE_S
from tests.support.receiver import ReceivedRequest, Receiver

LOOPBACK = GuardedFetcher(frozenset({"127.0.0.1"}))


@dataclass(frozen=True)
class PostOffice:
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
    ) -> "PostOffice":
        """Set one up; its clock starts at the present, because verifiers look at theirs."""
        clock = SettableClock(SystemClock().now())
        organization_id, api_key_id = await _new_key(database, clock)
        return cls(database, queue, clock, fetcher, organization_id, api_key_id)

    async def elsewhere(self) -> "PostOffice":
        """The same for another organization."""
        organization_id, api_key_id = await _new_key(self.database, self.clock)
        return replace(self, organization_id=organization_id, api_key_id=api_key_id)

    @property
    def outbox(self) -> Outbox:
        return Outbox(self.queue, clock=self.clock)

    @property
    def work(self) -> WebhookWork:
        return WebhookWork(self.database, jobs=self.queue, clock=self.clock)

    @property
    def log(self) -> DeliveryLog:
        return DeliveryLog(self.database, jobs=self.queue, clock=self.clock)

    @property
    def webhooks(self) -> Webhooks:
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
        """Subscribe; a proven one is as if its trial had gone well. Those come before workers."""
        subscription = await self.webhooks.create(
            NewSubscription(
                self.organization_id,
                None if for_all else self.api_key_id,
                url,
                events or ("*",),
            )
        )
        if is_proven:
            await self.run("DELETE FROM webhook_event")
            await self.run("DELETE FROM procrastinate_jobs")
            await self.run("UPDATE webhook_subscription SET is_proven = true")
        return subscription

    async def happens(
        self, topic: str = "render.created", resource: UUID | None = None, **data: Any
    ) -> UUID:
        """Record an event in a transaction of its own; return its resource."""
        resource = resource or uuid4()
        event = Event(self.organization_id, self.api_key_id, topic, resource, data)
        async with self.database.transaction() as connection:
            await self.outbox.record(connection, event)
        return resource

    async def run(self, statement: str) -> list[dict[str, Any]]:
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
        """Return where each delivery stands, oldest first."""
        return [str(each.status) for each in await self.deliveries(subscription)]

    @asynccontextmanager
    async def working(
        self, *, concurrency: int = 8, within_s: float = PATIENCE_S
    ) -> AsyncIterator[None]:
        """Let workers send during the block."""
        handler = SendWebhook(self.work, self.fetcher, clock=self.clock, within_s=within_s)
        task = asyncio.create_task(
            self.queue.run_worker(
                {SEND_WEBHOOK: handler},
                queues=[IO_QUEUE],
                concurrency=concurrency,
                name="test",
                pace=QUICK,
            )
        )
        try:
            yield
        finally:
            assert not task.done(), task.exception()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def settle(self, subscription: Subscription, *statuses: str) -> None:
        """Wait until the log reads like this, oldest first."""
        found: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE_S):
                while (found := await self.statuses(subscription)) != list(statuses):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"still {found}, not {list(statuses)}") from None

    async def idle(self, *, jobs_left: int = 0) -> None:
        """Wait until workers have nothing more to do, but for those that hang."""
        async with asyncio.timeout(PATIENCE_S):
            while len(await self.queue.list_jobs()) > jobs_left:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def take(self, subscription: Subscription, *, job_id: int = 1) -> Taken:
        """Take what is next, as a worker does."""
        found = await self.work.take(subscription.id, job_id=job_id)
        assert found is not None
        return found

    async def end(self, taken: Taken, *, status: int) -> None:
        """Say how sending it went."""
        attempt = Attempt(
            number=taken.fence,
            url=taken.subscription.url,
            started_at=self.clock.now(),
            duration_ms=1,
            status=status,
            error=complaint(status),
            answer="",
        )
        await self.work.finish(taken, attempt)


async def arrivals(receiver: Receiver, count: int) -> list[ReceivedRequest]:
    """Return what arrived once that much has."""
    return await asyncio.to_thread(receiver.wait_for, count, timeout_s=PATIENCE_S)


def data_of(request: ReceivedRequest) -> dict[str, Any]:
    """Return what was told."""
    found: dict[str, Any] = json.loads(request.body)["data"]
    return found


async def _new_key(database: Database, clock: SettableClock) -> tuple[OrganizationId, ApiKeyId]:
    identity = Identity(database, clock)
    organization = await identity.create_organization(f"org {uuid4()}")
    return organization.id, (await identity.create_key(organization.id, "test")).key.id
