"""Deliveries of webhooks to real servers: signed, in order, at least once, holding up nobody."""

import asyncio
import hashlib
import hmac
import json
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
from framekiln.webhooks.errors import DeliveryNotFound, WebhookNotFound, WebhookPaused
from framekiln.webhooks.model import DeliveryId, Event, SubscriptionState
from framekiln.webhooks.pacing import RETRY_DELAYS_S
from tests.support.patience import PATIENCE_S, ever_longer
from tests.support.receiver import NO_ANSWER, Answer, Receiver
from tests.support.webhooks import PostOffice, arrivals, data_of

pytestmark = pytest.mark.spec("6")


@pytest.fixture
async def office(database: Database, queue: JobQueue) -> PostOffice:
    return await PostOffice.open(database, queue)


class TestMessages:
    async def test_both_signatures_are_right(self, office: PostOffice, receiver: Receiver) -> None:
        subscription = await office.subscribe(receiver.url("/hook"), "render.*")
        await office.happens("render.completed", id="r1", title="Käse\u2028\0")
        async with office.working():
            [request] = await arrivals(receiver, 1)
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

    async def test_go_over_tls_to_servers_that_can_prove_their_name(
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
        office = await PostOffice.open(database, queue, fetcher)
        right = await office.subscribe(f"https://hooks.test:{port}/")
        wrong = await office.subscribe(f"https://other.test:{port}/")
        async with server, office.working():
            await office.happens()
            await office.settle(right, "delivered")
            await office.idle()
        assert came.is_set()
        [waiting] = await office.deliveries(wrong)
        assert waiting.last_attempt is not None
        assert "certificate" in str(waiting.last_attempt.error).lower()

    async def test_an_old_secret_signs_beside_the_new_one_for_a_day(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        old = await office.subscribe(receiver.url())
        new = await office.webhooks.rotate_secret(old.organization_id, old.id)
        assert new.secret != old.secret
        async with office.working():
            await office.happens()
            [first] = await arrivals(receiver, 1)
            for secret in (old.secret, new.secret):
                Webhook(secret).verify(first.body, dict(first.headers))
            office.clock.advance(timedelta(hours=24))
            await office.happens()
            second = (await arrivals(receiver, 2))[1]
        assert len(second.headers["webhook-signature"].split()) == 1

    async def test_a_new_address_is_tried(self, office: PostOffice, receiver: Receiver) -> None:
        async with office.working():
            made = await office.subscribe(receiver.url("/a"), "render.failed", is_proven=False)
            await arrivals(receiver, 1)
            await office.webhooks.change(office.organization_id, made.id, url=receiver.url("/b"))
            await arrivals(receiver, 2)
            await office.webhooks.change(office.organization_id, made.id, events=["file.*"])
            await office.settle(made, "delivered", "delivered")
        assert [request.path for request in receiver.requests] == ["/a", "/b"]
        told = {"id": str(office.api_key_id), "org_id": str(office.organization_id)}
        for request in receiver.requests:
            assert json.loads(request.body) == {"topic": "webhook.test", "data": told}


def make_certificate(folder: Path, name: str) -> Path:
    """Make a certificate for a name, and its key beside it."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return folder / "cert.pem"


class TestWhoIsTold:
    async def test_those_who_asked_for_the_topic_and_own_the_resource(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        await office.subscribe(receiver.url("/exact"), "render.failed")
        await office.subscribe(receiver.url("/family"), "render.*", "file.ready")
        await office.subscribe(receiver.url("/other"), "file.*")
        await office.subscribe(receiver.url("/all"), for_all=True)
        stranger = await office.elsewhere()
        await stranger.subscribe(receiver.url("/stranger"), for_all=True)
        user = Event(office.organization_id, None, "render.failed", uuid4(), {})
        async with office.working():
            await office.happens("render.failed")
            async with office.database.transaction() as connection:
                await office.outbox.record(connection, user)
            await arrivals(receiver, 4)
            await office.idle()
        paths = sorted(request.path for request in receiver.requests)
        assert paths == ["/all", "/all", "/exact", "/family"]

    async def test_nothing_is_written_when_nobody_listens(self, office: PostOffice) -> None:
        await office.happens()
        [row] = await office.run("SELECT count(*) AS n FROM webhook_event")
        assert row["n"] == 0
        assert await office.queue.list_jobs() == []

    async def test_what_did_not_happen_is_not_told(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        subscription = await office.subscribe(receiver.url())
        event = Event(office.organization_id, office.api_key_id, "file.ready", uuid4(), {})

        async def change_of_mind() -> None:
            async with office.database.transaction() as connection:
                await office.outbox.record(connection, event)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await change_of_mind()
        assert await office.deliveries(subscription) == []
        assert await office.queue.list_jobs() == []

    async def test_those_who_record_do_not_wait_for_each_other(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        subscription = await office.subscribe(receiver.url())
        event = Event(office.organization_id, office.api_key_id, "file.ready", uuid4(), {})
        async with office.database.transaction() as connection:
            await office.outbox.record(connection, event)
            async with asyncio.timeout(PATIENCE_S), office.working():
                await office.happens()
                await office.settle(subscription, "delivered")

    async def test_a_webhook_being_deleted_spoils_nothing(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        await office.subscribe(receiver.url())
        async with office.database.transaction() as connection:
            await connection.execute("DELETE FROM webhook_subscription")
            recording = asyncio.create_task(office.happens())
            await asyncio.sleep(0.1)
        await recording
        [row] = await office.run("SELECT count(*) AS n FROM webhook_event")
        assert row["n"] == 0

    async def test_a_webhook_deleted_meanwhile_spoils_nothing(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        subscription = await office.subscribe(receiver.url())
        event = Event(office.organization_id, office.api_key_id, "file.ready", uuid4(), {})
        async with office.database.transaction() as connection:
            await office.outbox.record(connection, event)
            deleting = asyncio.create_task(
                office.webhooks.delete(office.organization_id, subscription.id)
            )
            await asyncio.sleep(0.1)
        await deleting
        async with office.working():
            await office.idle()
        assert receiver.requests == []
        with pytest.raises(WebhookNotFound):
            await office.webhooks.get(office.organization_id, subscription.id)


class TestBadReceivers:
    async def test_500_twice_then_200(self, office: PostOffice, receiver: Receiver) -> None:
        receiver.answer_next(Answer(500, body=b"ou\0ch " * 200), Answer(503))
        receiver.answer(Answer(204))
        subscription = await office.subscribe(receiver.url())
        begun = office.clock.now()
        async with office.working():
            await office.happens(n=1)
            for seconds in RETRY_DELAYS_S[:2]:
                await arrivals(receiver, len(receiver.requests) or 1)
                await office.settle(subscription, "pending")
                [waiting] = await office.deliveries(subscription)
                assert waiting.due_at == office.clock.now() + timedelta(seconds=seconds)
                office.clock.advance(timedelta(seconds=seconds))
                await office.work.send_due()
                await office.idle()
            await office.settle(subscription, "delivered")
        [delivery] = await office.deliveries(subscription)
        detail = await office.log.get(office.organization_id, delivery.id)
        assert [(each.number, each.status, each.error) for each in detail.attempts] == [
            (1, 500, "answered with status 500"),
            (2, 503, "answered with status 503"),
            (3, 204, None),
        ]
        assert detail.attempts[0].answer == ("ou\ufffdch " * 200)[:500]
        assert detail.attempts[0].started_at == begun
        assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
        assert len({request.body for request in receiver.requests}) == 1
        reached = await office.webhooks.get(office.organization_id, subscription.id)
        assert reached.failing_since is None
        assert reached.last_delivered_at == office.clock.now()

    @pytest.mark.parametrize(
        ("bad", "told"),
        [
            (Answer(drop=True), "the connection failed"),
            (Answer(302, headers={"Location": "http://127.0.0.2/x"}), "302: redirects are not"),
            (Answer(400), "answered with status 400"),
            (Answer(304), "304"),
        ],
        ids=["resets", "redirects", "refuses", "not modified"],
    )
    async def test_loses_no_event(
        self, office: PostOffice, receiver: Receiver, bad: Answer, told: str
    ) -> None:
        receiver.answer_next(bad)
        subscription = await office.subscribe(receiver.url())
        async with office.working():
            await office.happens(n=1)
            await arrivals(receiver, 1)
            await office.idle()
            [waiting] = await office.deliveries(subscription)
            assert waiting.last_attempt is not None
            assert told in str(waiting.last_attempt.error)
            office.clock.advance(timedelta(seconds=10))
            await office.work.send_due()
            await office.settle(subscription, "delivered")
        assert [data_of(request) for request in receiver.requests] == [{"n": 1}] * 2

    async def test_gives_up_on_a_receiver_that_hangs(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        receiver.answer(NO_ANSWER)
        subscription = await office.subscribe(receiver.url())
        await office.happens(n=1)
        for attempt in ever_longer(AssertionError):
            with attempt as limit_s:
                async with office.working(within_s=limit_s):
                    await office.work.send_due()
                    await office.idle()
                office.clock.advance(timedelta(hours=1))
                [waiting] = await office.deliveries(subscription)
                assert waiting.last_attempt is not None
                told = f"did not finish within {limit_s:g} s"
                assert told in str(waiting.last_attempt.error)
        receiver.answer(Answer())
        async with office.working():
            await office.work.send_due()
            await office.settle(subscription, "delivered")
        assert data_of(receiver.requests[-1]) == {"n": 1}

    async def test_an_answer_of_any_size_and_encoding_counts(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        receiver.answer(Answer(200, body=b"x" * 300_000, headers={"Content-Encoding": "gzip"}))
        subscription = await office.subscribe(receiver.url())
        async with office.working():
            await office.happens()
            await office.settle(subscription, "delivered")

    async def test_a_name_without_an_address_may_have_one_later(
        self, database: Database, queue: JobQueue
    ) -> None:
        async def resolve(host: str, port: int) -> Sequence[str]:
            raise OSError("no such name")

        office = await PostOffice.open(database, queue, GuardedFetcher(resolve=resolve))
        subscription = await office.subscribe("https://hooks.test/")
        async with office.working():
            await office.happens()
            await office.idle()
        [waiting] = await office.deliveries(subscription)
        assert waiting.last_attempt is not None
        assert "does not resolve" in str(waiting.last_attempt.error)

    async def test_a_name_that_moves_inside_is_not_followed(
        self, database: Database, queue: JobQueue, receiver: Receiver
    ) -> None:
        addresses = ["93.184.216.34"]

        async def resolve(host: str, port: int) -> Sequence[str]:
            return list(addresses)

        office = await PostOffice.open(database, queue, GuardedFetcher(resolve=resolve))
        subscription = await office.subscribe("https://hooks.test/")
        addresses[:] = ["127.0.0.1"]
        async with office.working():
            await office.happens()
            await office.idle()
        [waiting] = await office.deliveries(subscription)
        assert waiting.last_attempt is not None
        assert "127.0.0.1 is not public" in str(waiting.last_attempt.error)


class TestEnds:
    async def test_after_three_days_it_is_given_up_and_the_next_one_goes(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        subscription = await office.subscribe(receiver.url())
        resource = await office.happens(n=1)
        await office.happens(resource=resource, n=2)
        for _ in RETRY_DELAYS_S:
            # Another resource is delivered in between: else the webhook would be paused.
            await office.end(await office.take(subscription), status=500)
            await office.run("UPDATE webhook_subscription SET failing_since = NULL")
            office.clock.advance(timedelta(hours=4))
        assert await office.statuses(subscription) == ["pending", "pending"]
        await office.end(await office.take(subscription), status=500)
        assert await office.statuses(subscription) == ["failed", "pending"]
        async with office.working():
            await office.work.send_due()
            await office.settle(subscription, "failed", "delivered")
            [failed, _] = await office.deliveries(subscription)
            again = await office.log.redeliver(office.organization_id, failed.id)
            await office.settle(subscription, "failed", "delivered", "delivered")
        assert [data_of(request)["n"] for request in receiver.requests] == [2, 1]
        assert again.delivery.redelivery_of == failed.id
        assert receiver.requests[1].headers["webhook-id"] == str(failed.event_id)

    async def test_a_dead_receiver_is_paused_and_gets_everything_when_resumed(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        receiver.answer(Answer(500))
        subscription = await office.subscribe(receiver.url())
        begun = office.clock.now()
        async with office.working():
            resource = await office.happens(n=1)
            await office.idle()
            for _ in range(7):
                office.clock.advance(timedelta(hours=4))
                await office.work.send_due()
                await office.idle()
            paused = await office.webhooks.get(office.organization_id, subscription.id)
            assert paused.state is SubscriptionState.PAUSED
            assert begun.isoformat(timespec="seconds") in str(paused.reason)
            assert "answered with status 500" in str(paused.reason)
            sent = len(receiver.requests)
            await office.happens(resource=resource, n=2)
            await office.happens(n=3)
            office.clock.advance(timedelta(days=10))
            assert await office.work.send_due() == 0
            [waiting, *_] = await office.deliveries(subscription)
            with pytest.raises(WebhookPaused):
                await office.log.redeliver(office.organization_id, waiting.id)
            assert len(receiver.requests) == sent
            receiver.answer(Answer())
            resumed = await office.webhooks.resume(office.organization_id, subscription.id)
            assert (resumed.state, resumed.reason) == (SubscriptionState.ACTIVE, None)
            await office.settle(subscription, *["delivered"] * 3)
        assert sorted(str(data_of(it)["n"]) for it in receiver.requests[sent:]) == ["1", "2", "3"]
        told = [data_of(it)["n"] for it in receiver.requests[sent:]]
        assert told.index(1) < told.index(2)

    async def test_a_receiver_that_is_back_gets_what_was_postponed(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        receiver.answer(Answer(500))
        subscription = await office.subscribe(receiver.url())
        async with office.working():
            await office.happens(n=1)
            await office.idle()
            for seconds in RETRY_DELAYS_S[:5]:
                office.clock.advance(timedelta(seconds=seconds))
                await office.work.send_due()
                await office.idle()
            receiver.answer(Answer())
            await office.happens(n=2)
            await office.work.send_due()
            await office.settle(subscription, "delivered", "delivered")

    async def test_one_that_waits_is_tried_at_once_when_asked(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        receiver.answer_next(Answer(500))
        subscription = await office.subscribe(receiver.url())
        async with office.working():
            await office.happens()
            await arrivals(receiver, 1)
            await office.settle(subscription, "pending")
            [waiting] = await office.deliveries(subscription)
            again = await office.log.redeliver(office.organization_id, waiting.id)
            assert again.delivery.id == waiting.id
            await office.settle(subscription, "delivered")

    async def test_others_find_nothing(self, office: PostOffice, receiver: Receiver) -> None:
        subscription = await office.subscribe(receiver.url())
        await office.happens()
        [delivery] = await office.deliveries(subscription)
        stranger = await office.elsewhere()
        assert await stranger.deliveries(subscription) == []
        for unknown in (delivery.id, DeliveryId(uuid4())):
            with pytest.raises(DeliveryNotFound):
                await stranger.log.get(stranger.organization_id, unknown)
            with pytest.raises(DeliveryNotFound):
                await stranger.log.redeliver(stranger.organization_id, unknown)

    async def test_the_log_is_kept_for_thirty_days(
        self, office: PostOffice, receiver: Receiver
    ) -> None:
        subscription = await office.subscribe(receiver.url())
        async with office.working():
            await office.happens()
            await office.settle(subscription, "delivered")
        office.clock.advance(timedelta(days=29))
        assert await office.work.remove_old() == 0
        await office.happens()
        office.clock.advance(timedelta(days=2))
        assert await office.work.remove_old() == 1
        assert await office.statuses(subscription) == ["pending"]
        [row] = await office.run("SELECT count(*) AS n FROM webhook_event")
        assert row["n"] == 1
        await office.run("UPDATE webhook_subscription SET state = 'paused'")
        office.clock.advance(timedelta(days=29))
        assert await office.work.remove_old() == 1
        assert await office.statuses(subscription) == []
