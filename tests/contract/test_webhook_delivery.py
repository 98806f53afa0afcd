"""Deliveries of webhooks to real servers: signed, in order, at least once, holding up nobody."""

import asyncio
import hashlib
import hmac
import json
import socket
import ssl
import subprocess
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from framekiln.db.pool import Database
from framekiln.jobs.queue import JobQueue
from framekiln.kit.fetch import GuardedFetcher
from framekiln.webhooks.delivery_policy import RETRY_DELAYS_S
from framekiln.webhooks.errors import DeliveryNotFound, WebhookNotFound, WebhookPaused
from framekiln.webhooks.model import DeliveryId, Event, SubscriptionState
from tests.support.jobs import wait_for_blocked
from tests.support.receiver import NO_ANSWER, Answer, Receiver
from tests.support.timeouts import TIMEOUT_S, increasing_limits
from tests.support.webhooks import WebhookHarness, data_of, wait_for_requests

pytestmark = pytest.mark.spec("6")


@pytest.fixture
async def webhooks(database: Database, queue: JobQueue) -> WebhookHarness:
    return await WebhookHarness.open(database, queue)


class TestMessages:
    async def test_both_signatures_are_right(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url("/hook"), "render.*")
        await webhooks.record_event("render.completed", id="r1", title="Käse\u2028\0")
        async with webhooks.running_workers():
            [request] = await wait_for_requests(receiver, 1)
        assert (request.method, request.path) == ("POST", "/hook")
        assert json.loads(request.body) == {
            "topic": "render.completed",
            "data": {"id": "r1", "title": "Käse\u2028\0"},
        }
        assert request.headers["content-type"] == "application/json"
        assert request.headers["user-agent"] == "Framekiln-Webhooks/1"
        by_hand = hmac.new(subscription.secret.encode(), request.body, hashlib.sha256).hexdigest()
        assert request.headers["x-webhook-signature"] == by_hand
        verifier = Webhook(subscription.secret)
        assert verifier.verify(request.body, dict(request.headers))["topic"] == "render.completed"
        with pytest.raises(WebhookVerificationError):
            verifier.verify(request.body + b" ", dict(request.headers))

    async def test_tls_certificates_are_verified(
        self, database: Database, queue: JobQueue, tmp_path: Path
    ) -> None:
        came = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            came.set()
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
            writer.close()

        async def resolve(host: str, port: int) -> Sequence[str]:
            return ["127.0.0.1"]

        certificate = make_certificate(tmp_path, "hooks.test")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("key.pem"))
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        allow = frozenset({"hooks.test", "other.test"})
        fetcher = GuardedFetcher(allow, ca_file=certificate, resolve=resolve)
        office = await WebhookHarness.open(database, queue, fetcher)
        right = await office.subscribe(f"https://hooks.test:{port}/")
        wrong = await office.subscribe(f"https://other.test:{port}/")
        async with server, office.running_workers():
            await office.record_event()
            await office.wait_for_statuses(right, "delivered")
            await office.wait_until_idle()
        assert came.is_set()
        [waiting] = await office.deliveries(wrong)
        assert waiting.last_attempt is not None
        assert "certificate" in str(waiting.last_attempt.error).lower()

    async def test_an_old_secret_signs_beside_the_new_one_for_a_day(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        old = await webhooks.subscribe(receiver.url())
        new = await webhooks.service.rotate_secret(old.organization_id, old.id)
        assert new.secret != old.secret
        async with webhooks.running_workers():
            await webhooks.record_event()
            [first] = await wait_for_requests(receiver, 1)
            for secret in (old.secret, new.secret):
                Webhook(secret).verify(first.body, dict(first.headers))
            webhooks.clock.advance(timedelta(hours=24))
            await webhooks.record_event()
            second = (await wait_for_requests(receiver, 2))[1]
        assert len(second.headers["webhook-signature"].split()) == 1

    async def test_a_changed_address_gets_a_test_event(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        async with webhooks.running_workers():
            made = await webhooks.subscribe(receiver.url("/a"), "render.failed", is_proven=False)
            await wait_for_requests(receiver, 1)
            await webhooks.service.change(webhooks.organization_id, made.id, url=receiver.url("/b"))
            await wait_for_requests(receiver, 2)
            await webhooks.service.change(webhooks.organization_id, made.id, events=["file.*"])
            await webhooks.wait_for_statuses(made, "delivered", "delivered")
        assert [request.path for request in receiver.requests] == ["/a", "/b"]
        expected = {"id": str(webhooks.api_key_id), "org_id": str(webhooks.organization_id)}
        for request in receiver.requests:
            assert json.loads(request.body) == {"topic": "webhook.test", "data": expected}


def make_certificate(folder: Path, name: str) -> Path:
    """Make a certificate for a name, and its key beside it."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return folder / "cert.pem"


class TestRecipients:
    async def test_only_matching_subscriptions_of_the_owner_get_an_event(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        await webhooks.subscribe(receiver.url("/exact"), "render.failed")
        await webhooks.subscribe(receiver.url("/family"), "render.*", "file.ready")
        await webhooks.subscribe(receiver.url("/other"), "file.*")
        await webhooks.subscribe(receiver.url("/all"), for_all=True)
        stranger = await webhooks.other_organization()
        await stranger.subscribe(receiver.url("/stranger"), for_all=True)
        user = Event(webhooks.organization_id, None, "render.failed", uuid4(), {})
        async with webhooks.running_workers():
            await webhooks.record_event("render.failed")
            async with webhooks.database.transaction() as connection:
                await webhooks.outbox.record(connection, user)
            await wait_for_requests(receiver, 4)
            await webhooks.wait_until_idle()
        paths = sorted(request.path for request in receiver.requests)
        assert paths == ["/all", "/all", "/exact", "/family"]

    async def test_an_event_without_subscribers_writes_nothing(
        self, webhooks: WebhookHarness
    ) -> None:
        await webhooks.record_event()
        [row] = await webhooks.run_sql("SELECT count(*) AS n FROM webhook_event")
        assert row["n"] == 0
        assert await webhooks.queue.list_jobs() == []

    async def test_a_rolled_back_event_is_not_sent(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        event = Event(webhooks.organization_id, webhooks.api_key_id, "file.ready", uuid4(), {})

        async def pause_and_resume() -> None:
            async with webhooks.database.transaction() as connection:
                await webhooks.outbox.record(connection, event)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await pause_and_resume()
        assert await webhooks.deliveries(subscription) == []
        assert await webhooks.queue.list_jobs() == []

    async def test_recording_events_does_not_block_other_transactions(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        event = Event(webhooks.organization_id, webhooks.api_key_id, "file.ready", uuid4(), {})
        async with webhooks.database.transaction() as connection:
            await webhooks.outbox.record(connection, event)
            async with asyncio.timeout(TIMEOUT_S), webhooks.running_workers():
                await webhooks.record_event()
                await webhooks.wait_for_statuses(subscription, "delivered")

    async def test_recording_succeeds_while_a_webhook_is_being_deleted(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        await webhooks.subscribe(receiver.url())
        async with webhooks.database.transaction() as connection:
            await connection.execute("DELETE FROM webhook_subscription")
            recording = asyncio.create_task(webhooks.record_event())
            await wait_for_blocked(webhooks.database)
        await recording
        [row] = await webhooks.run_sql("SELECT count(*) AS n FROM webhook_event")
        assert row["n"] == 0

    async def test_sending_succeeds_after_the_webhook_was_deleted(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        event = Event(webhooks.organization_id, webhooks.api_key_id, "file.ready", uuid4(), {})
        async with webhooks.database.transaction() as connection:
            await webhooks.outbox.record(connection, event)
            deleting = asyncio.create_task(
                webhooks.service.delete(webhooks.organization_id, subscription.id)
            )
            await wait_for_blocked(webhooks.database)
        await deleting
        async with webhooks.running_workers():
            await webhooks.wait_until_idle()
        assert receiver.requests == []
        with pytest.raises(WebhookNotFound):
            await webhooks.service.get(webhooks.organization_id, subscription.id)


class TestBadReceivers:
    async def test_failed_attempts_are_retried_after_increasing_delays(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer_next(Answer(500, body=b"ou\0ch " * 200), Answer(503))
        receiver.answer(Answer(204))
        subscription = await webhooks.subscribe(receiver.url())
        begun = webhooks.clock.now()
        async with webhooks.running_workers():
            await webhooks.record_event(n=1)
            for seconds in RETRY_DELAYS_S[:2]:
                await wait_for_requests(receiver, len(receiver.requests) or 1)
                await webhooks.wait_for_statuses(subscription, "pending")
                [waiting] = await webhooks.deliveries(subscription)
                assert waiting.due_at == webhooks.clock.now() + timedelta(seconds=seconds)
                webhooks.clock.advance(timedelta(seconds=seconds))
                await webhooks.worker.queue_due()
                await webhooks.wait_until_idle()
            await webhooks.wait_for_statuses(subscription, "delivered")
        [delivery] = await webhooks.deliveries(subscription)
        detail = await webhooks.log.get(webhooks.organization_id, delivery.id)
        assert [(each.number, each.status, each.error) for each in detail.attempts] == [
            (1, 500, "answered with status 500"),
            (2, 503, "answered with status 503"),
            (3, 204, None),
        ]
        assert detail.attempts[0].answer == ("ou\ufffdch " * 200)[:500]
        assert detail.attempts[0].started_at == begun
        assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
        assert len({request.body for request in receiver.requests}) == 1
        reached = await webhooks.service.get(webhooks.organization_id, subscription.id)
        assert reached.failing_since is None
        assert reached.last_delivered_at == webhooks.clock.now()

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (Answer(drop=True), "the connection failed"),
            (Answer(302, headers={"Location": "http://127.0.0.2/x"}), "302: redirects are not"),
            (Answer(400), "answered with status 400"),
            (Answer(304), "304"),
        ],
        ids=["resets", "redirects", "refuses", "not modified"],
    )
    async def test_a_bad_receiver_loses_no_event(
        self, webhooks: WebhookHarness, receiver: Receiver, bad: Answer, message: str
    ) -> None:
        receiver.answer_next(bad)
        subscription = await webhooks.subscribe(receiver.url())
        async with webhooks.running_workers():
            await webhooks.record_event(n=1)
            await wait_for_requests(receiver, 1)
            await webhooks.wait_until_idle()
            [waiting] = await webhooks.deliveries(subscription)
            assert waiting.last_attempt is not None
            assert message in str(waiting.last_attempt.error)
            webhooks.clock.advance(timedelta(seconds=10))
            await webhooks.worker.queue_due()
            await webhooks.wait_for_statuses(subscription, "delivered")
        assert [data_of(request) for request in receiver.requests] == [{"n": 1}] * 2

    async def test_a_hanging_receiver_times_out(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer(NO_ANSWER)
        subscription = await webhooks.subscribe(receiver.url())
        await webhooks.record_event(n=1)
        for attempt in increasing_limits(AssertionError):
            with attempt as limit_s:
                async with webhooks.running_workers(within_s=limit_s):
                    await webhooks.worker.queue_due()
                    await webhooks.wait_until_idle()
                webhooks.clock.advance(timedelta(hours=1))
                [waiting] = await webhooks.deliveries(subscription)
                assert waiting.last_attempt is not None
                message = f"did not finish within {limit_s:g} s"
                assert message in str(waiting.last_attempt.error)
        receiver.answer(Answer())
        async with webhooks.running_workers():
            await webhooks.worker.queue_due()
            await webhooks.wait_for_statuses(subscription, "delivered")
        assert data_of(receiver.requests[-1]) == {"n": 1}

    async def test_a_response_of_any_size_and_encoding_is_accepted(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer(Answer(200, body=b"x" * 300_000, headers={"Content-Encoding": "gzip"}))
        subscription = await webhooks.subscribe(receiver.url())
        async with webhooks.running_workers():
            await webhooks.record_event()
            await webhooks.wait_for_statuses(subscription, "delivered")

    async def test_a_name_without_an_address_may_have_one_later(
        self, database: Database, queue: JobQueue
    ) -> None:
        async def resolve(host: str, port: int) -> Sequence[str]:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")

        office = await WebhookHarness.open(database, queue, GuardedFetcher(resolve=resolve))
        subscription = await office.subscribe("https://hooks.test/")
        async with office.running_workers():
            await office.record_event()
            await office.wait_until_idle()
        [waiting] = await office.deliveries(subscription)
        assert waiting.last_attempt is not None
        assert str(waiting.last_attempt.error).endswith("the name does not resolve: no such name")

    async def test_a_name_that_resolves_to_a_private_address_later_is_refused(
        self, database: Database, queue: JobQueue, receiver: Receiver
    ) -> None:
        addresses = ["93.184.216.34"]

        async def resolve(host: str, port: int) -> Sequence[str]:
            return list(addresses)

        office = await WebhookHarness.open(database, queue, GuardedFetcher(resolve=resolve))
        subscription = await office.subscribe("https://hooks.test/")
        addresses[:] = ["127.0.0.1"]
        async with office.running_workers():
            await office.record_event()
            await office.wait_until_idle()
        [waiting] = await office.deliveries(subscription)
        assert waiting.last_attempt is not None
        error = str(waiting.last_attempt.error)
        assert "hooks.test is not a public host" in error
        assert "127.0.0.1" not in error


class TestFailedDeliveries:
    async def test_a_delivery_fails_after_three_days_and_the_next_is_sent(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        resource = await webhooks.record_event(n=1)
        await webhooks.record_event(resource=resource, n=2)
        for _ in RETRY_DELAYS_S:
            # Another resource is delivered in between: else the webhook would be paused.
            await webhooks.finish(await webhooks.take(subscription), status=500)
            await webhooks.run_sql("UPDATE webhook_subscription SET failing_since = NULL")
            webhooks.clock.advance(timedelta(hours=4))
        assert await webhooks.statuses(subscription) == ["pending", "pending"]
        await webhooks.finish(await webhooks.take(subscription), status=500)
        assert await webhooks.statuses(subscription) == ["failed", "pending"]
        async with webhooks.running_workers():
            await webhooks.worker.queue_due()
            await webhooks.wait_for_statuses(subscription, "failed", "delivered")
            [failed, _] = await webhooks.deliveries(subscription)
            again = await webhooks.log.redeliver(webhooks.organization_id, failed.id)
            await webhooks.wait_for_statuses(subscription, "failed", "delivered", "delivered")
        assert [data_of(request)["n"] for request in receiver.requests] == [2, 1]
        assert again.delivery.redelivery_of == failed.id
        assert receiver.requests[1].headers["webhook-id"] == str(failed.event_id)

    async def test_a_dead_receiver_is_paused_and_gets_everything_when_resumed(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer(Answer(500))
        subscription = await webhooks.subscribe(receiver.url())
        begun = webhooks.clock.now()
        async with webhooks.running_workers():
            resource = await webhooks.record_event(n=1)
            await webhooks.wait_until_idle()
            for _ in range(7):
                webhooks.clock.advance(timedelta(hours=4))
                await webhooks.worker.queue_due()
                await webhooks.wait_until_idle()
            paused = await webhooks.service.get(webhooks.organization_id, subscription.id)
            assert paused.state is SubscriptionState.PAUSED
            assert begun.isoformat(timespec="seconds") in str(paused.reason)
            assert "answered with status 500" in str(paused.reason)
            sent = len(receiver.requests)
            await webhooks.record_event(resource=resource, n=2)
            await webhooks.record_event(n=3)
            webhooks.clock.advance(timedelta(days=10))
            assert await webhooks.worker.queue_due() == 0
            [waiting, *_] = await webhooks.deliveries(subscription)
            with pytest.raises(WebhookPaused):
                await webhooks.log.redeliver(webhooks.organization_id, waiting.id)
            assert len(receiver.requests) == sent
            receiver.answer(Answer())
            resumed = await webhooks.service.resume(webhooks.organization_id, subscription.id)
            assert (resumed.state, resumed.reason) == (SubscriptionState.ACTIVE, None)
            await webhooks.wait_for_statuses(subscription, *["delivered"] * 3)
        assert sorted(str(data_of(it)["n"]) for it in receiver.requests[sent:]) == ["1", "2", "3"]
        numbers = [data_of(it)["n"] for it in receiver.requests[sent:]]
        assert numbers.index(1) < numbers.index(2)

    async def test_a_recovered_receiver_gets_postponed_deliveries(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer(Answer(500))
        subscription = await webhooks.subscribe(receiver.url())
        async with webhooks.running_workers():
            await webhooks.record_event(n=1)
            await webhooks.wait_until_idle()
            for seconds in RETRY_DELAYS_S[:5]:
                webhooks.clock.advance(timedelta(seconds=seconds))
                await webhooks.worker.queue_due()
                await webhooks.wait_until_idle()
            receiver.answer(Answer())
            await webhooks.record_event(n=2)
            await webhooks.worker.queue_due()
            await webhooks.wait_for_statuses(subscription, "delivered", "delivered")

    async def test_a_waiting_delivery_can_be_retried_at_once(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        receiver.answer_next(Answer(500))
        subscription = await webhooks.subscribe(receiver.url())
        async with webhooks.running_workers():
            await webhooks.record_event()
            await wait_for_requests(receiver, 1)
            await webhooks.wait_for_statuses(subscription, "pending")
            [waiting] = await webhooks.deliveries(subscription)
            again = await webhooks.log.redeliver(webhooks.organization_id, waiting.id)
            assert again.delivery.id == waiting.id
            await webhooks.wait_for_statuses(subscription, "delivered")

    async def test_other_organizations_cannot_see_deliveries(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        await webhooks.record_event()
        [delivery] = await webhooks.deliveries(subscription)
        stranger = await webhooks.other_organization()
        assert await stranger.deliveries(subscription) == []
        for unknown in (delivery.id, DeliveryId(uuid4())):
            with pytest.raises(DeliveryNotFound):
                await stranger.log.get(stranger.organization_id, unknown)
            with pytest.raises(DeliveryNotFound):
                await stranger.log.redeliver(stranger.organization_id, unknown)

    async def test_the_log_is_kept_for_thirty_days(
        self, webhooks: WebhookHarness, receiver: Receiver
    ) -> None:
        subscription = await webhooks.subscribe(receiver.url())
        async with webhooks.running_workers():
            await webhooks.record_event()
            await webhooks.wait_for_statuses(subscription, "delivered")
        webhooks.clock.advance(timedelta(days=29))
        assert await webhooks.worker.remove_old() == 0
        await webhooks.record_event()
        webhooks.clock.advance(timedelta(days=2))
        assert await webhooks.worker.remove_old() == 1
        assert await webhooks.statuses(subscription) == ["pending"]
        [row] = await webhooks.run_sql("SELECT count(*) AS n FROM webhook_event")
        assert row["n"] == 1
        await webhooks.run_sql("UPDATE webhook_subscription SET state = 'paused'")
        webhooks.clock.advance(timedelta(days=29))
        assert await webhooks.worker.remove_old() == 1
        assert await webhooks.statuses(subscription) == []
