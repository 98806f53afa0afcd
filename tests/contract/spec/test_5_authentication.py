"""Clause 5, API keys: who gets in, who does not, and how the answer says so.

Also the application around every route: request ids, readiness, metrics, CORS, OpenAPI.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest
from structlog.testing import capture_logs

from framekiln.api.app import create_app
from framekiln.db.notify import Notifications
from framekiln.db.pool import Database
from framekiln.engine.confinement import missing_confinement
from framekiln.identity.errors import (
    InvalidKeyText,
    InvalidName,
    KeyIdTaken,
    KeyNotFound,
    OrganizationNameTaken,
    OrganizationNotFound,
)
from framekiln.identity.keys import make_key
from framekiln.identity.members import Members
from framekiln.identity.model import IssuedKey
from framekiln.identity.passwords import Passwords
from framekiln.identity.service import CACHE_FOR, Identity
from framekiln.identity.sessions import Sessions
from framekiln.identity.signatures.devices import DeviceTokens
from framekiln.identity.signatures.stored_keys import StoredSigningKeys
from framekiln.jobs.model import NewJob
from framekiln.jobs.queue import JobQueue
from framekiln.kit.control_group import has_control_groups
from framekiln.kit.errors import Unauthenticated
from framekiln.kit.ids import OrganizationId
from framekiln.quotas.model import Quota, default_limits
from framekiln.quotas.service import Quotas
from framekiln.renders.events import RenderEvents
from framekiln.renders.service import Renders
from framekiln.settings import Settings
from framekiln.storage.blob_store import BlobStore, open_blob_store
from framekiln.webhooks.outbox import Outbox
from tests.support.clock import SettableClock

pytestmark = pytest.mark.spec("5")

ORGANIZATION = "/api/v1/organization"


@dataclass(frozen=True)
class AuthServices:
    """The real parts the application under test needs."""

    settings: Settings
    database: Database
    blobs: BlobStore
    identity: Identity
    jobs: JobQueue
    quotas: Quotas
    renders: Renders
    members: Members


@pytest.fixture
async def parts(conninfo: str, tmp_path: Path, clock: SettableClock) -> AsyncIterator[AuthServices]:
    database, jobs = Database(conninfo), JobQueue(conninfo)
    await database.open()
    await jobs.open()
    blobs = open_blob_store(None, folder=tmp_path / "blobs")
    settings = Settings()
    quotas = Quotas(database, clock=clock, defaults=default_limits(settings))
    renders = Renders(
        database,
        jobs=jobs,
        blobs=blobs,
        notifications=Notifications(conninfo),
        clock=clock,
        events=RenderEvents(Outbox(jobs, clock=clock), base_url=settings.public_url),
        quotas=quotas,
    )
    identity = Identity(database, clock)
    devices = DeviceTokens(StoredSigningKeys(database, clock), clock)
    sessions = Sessions(database, passwords=Passwords(), devices=devices, clock=clock)
    members = Members(database, sessions=sessions, clock=clock)
    yield AuthServices(settings, database, blobs, identity, jobs, quotas, renders, members)
    await jobs.close()
    await database.close()


@pytest.fixture
async def client(parts: AuthServices) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(parts))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


@pytest.fixture
async def issued(parts: AuthServices) -> IssuedKey:
    organization = await parts.identity.create_organization("Acme", pipelines_enabled=True)
    return await parts.identity.create_key(organization.id, "laptop")


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


async def ask(client: httpx.AsyncClient, text: str) -> httpx.Response:
    return await client.get(ORGANIZATION, headers=bearer(text))


@pytest.mark.spec("4.6")
async def test_a_key_opens_its_organization(client: httpx.AsyncClient, issued: IssuedKey) -> None:
    answer = await ask(client, issued.text)
    assert answer.status_code == 200
    body = answer.json()
    assert UUID(body.pop("id")) == issued.key.organization_id
    assert set(body.pop("quotas")) == set(Quota)
    assert body == {
        "name": "Acme",
        "displayName": "Acme",
        "display_name": "Acme",
        "apiKeyName": "laptop",
        "api_key_name": "laptop",
        "pipelinesEnabled": True,
        "pipelines_enabled": True,
    }


async def test_the_scheme_is_case_insensitive(client: httpx.AsyncClient, issued: IssuedKey) -> None:
    headers = {"Authorization": f"bearer   {issued.text} ", "Content-Type": "application/json"}
    assert (await client.get(ORGANIZATION, headers=headers)).status_code == 200


@pytest.mark.spec("7")
async def test_every_refusal_is_a_401_with_its_reason(
    client: httpx.AsyncClient, parts: AuthServices, issued: IssuedKey
) -> None:
    revoked = await parts.identity.create_key(issued.key.organization_id, "old")
    await parts.identity.revoke_key(revoked.key.key_id)
    secret, _, key_id = issued.text.removeprefix("ef_").partition("_")
    offered: list[dict[str, str]] = [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {issued.text}"},
        bearer("hello"),
        bearer(make_key()),
        bearer(f"ef_{secret[:-1]}_{key_id}"),
        bearer(f"ef_{secret}_{key_id[:-1]}"),
        bearer(revoked.text),
    ]
    messages = []
    for headers in offered:
        answer = await client.get(ORGANIZATION, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"] == "unauthorized"
        messages.append(answer.json()["message"])
    missing, empty, scheme, malformed, unknown, wrong, other, stopped = messages
    assert missing == empty
    assert unknown == wrong == other
    assert len({missing, scheme, malformed, unknown, stopped}) == 5


async def test_a_revoked_key_is_refused_at_once(
    client: httpx.AsyncClient, parts: AuthServices, issued: IssuedKey
) -> None:
    assert (await ask(client, issued.text)).status_code == 200
    first = await parts.identity.revoke_key(issued.key.key_id)
    assert (await ask(client, issued.text)).status_code == 401
    assert (await parts.identity.revoke_key(issued.key.key_id)).revoked_at == first.revoked_at


async def test_a_key_revoked_by_another_process_is_refused_soon(
    client: httpx.AsyncClient, parts: AuthServices, issued: IssuedKey, clock: SettableClock
) -> None:
    assert (await ask(client, issued.text)).status_code == 200
    await Identity(parts.database, clock).revoke_key(issued.key.key_id)
    clock.advance(CACHE_FOR)
    assert (await ask(client, issued.text)).status_code == 401


async def test_last_use_is_recorded_once_a_minute(
    client: httpx.AsyncClient, parts: AuthServices, issued: IssuedKey, clock: SettableClock
) -> None:
    async def last_used_s() -> float | None:
        (key,) = await parts.identity.list_keys(issued.key.organization_id)
        if key.last_used_at is None:
            return None
        return (key.last_used_at - start).total_seconds()

    start = clock.now()
    assert await last_used_s() is None
    noted = []
    for _ in range(4):
        await ask(client, issued.text)
        noted.append(await last_used_s())
        clock.advance(timedelta(seconds=30))
    assert noted == [0, 0, 60, 60]


async def test_frequent_requests_with_a_key_cause_no_queries(
    parts: AuthServices, issued: IssuedKey, clock: SettableClock
) -> None:
    caller = await parts.identity.authenticate(issued.text)
    await parts.database.close()
    assert await parts.identity.authenticate(issued.text) == caller
    await parts.database.open()


async def test_keys_are_not_in_the_database(parts: AuthServices, issued: IssuedKey) -> None:
    secret = issued.text.split("_")[1]
    async with parts.database.connection() as connection:
        rows = await (await connection.execute("SELECT * FROM api_key")).fetchall()
    assert len(rows) == 1
    assert secret not in str(rows)


async def test_invalid_and_taken_names_are_refused(parts: AuthServices, issued: IssuedKey) -> None:
    identity = parts.identity
    with pytest.raises(OrganizationNameTaken):
        await identity.create_organization("Acme")
    for name in ("", "  ", "a\nb", "a" * 201, "a\x00"):
        with pytest.raises(InvalidName):
            await identity.create_organization(name)
    nobody = OrganizationId(uuid4())
    for call in (
        identity.create_key(nobody, "x"),
        identity.list_keys(nobody),
        identity.set_pipelines(nobody, True),
    ):
        with pytest.raises(OrganizationNotFound):
            await call
    with pytest.raises(KeyNotFound):
        await identity.revoke_key("nothing")
    assert [each.name for each in await identity.list_organizations()] == ["Acme"]
    assert await identity.list_keys(issued.key.organization_id) == [issued.key]


async def test_a_temporary_key_reuses_the_row_of_a_revoked_one(
    client: httpx.AsyncClient, parts: AuthServices, issued: IssuedKey
) -> None:
    identity, owner = parts.identity, issued.key.organization_id
    first = await identity.issue_temporary_key(owner, "temporary")
    beside = await identity.issue_temporary_key(owner, "temporary")
    assert first.key.id != beside.key.id
    await identity.revoke_key(first.key.key_id)
    again = await identity.issue_temporary_key(owner, "temporary")
    assert (again.key.id, again.key.revoked_at) == (first.key.id, None)
    assert (await ask(client, again.text)).status_code == 200
    assert (await ask(client, beside.text)).status_code == 200
    assert (await ask(client, first.text)).status_code == 401
    assert len(await identity.list_keys(owner)) == 3


async def test_temporary_keys_do_not_reuse_rows_of_other_organizations(
    parts: AuthServices, issued: IssuedKey
) -> None:
    identity, owner = parts.identity, issued.key.organization_id
    other = await identity.create_organization("Other")
    theirs = await identity.create_key(other.id, "temporary")
    for key in (theirs.key, issued.key):
        await identity.revoke_key(key.key_id)
    temporary = await identity.issue_temporary_key(owner, "temporary")
    assert temporary.key.id not in (theirs.key.id, issued.key.id)


async def test_concurrent_temporary_keys_differ(parts: AuthServices, issued: IssuedKey) -> None:
    identity, owner = parts.identity, issued.key.organization_id
    for _ in range(2):
        temporary = await asyncio.gather(
            *(identity.issue_temporary_key(owner, "temporary") for _ in range(5))
        )
        assert len({each.key.id for each in temporary}) == 5
        for each in temporary:
            await identity.revoke_key(each.key.key_id)
    assert len(await identity.list_keys(owner)) == 6


async def test_enabling_pipelines_takes_effect_at_once(
    client: httpx.AsyncClient, parts: AuthServices, issued: IssuedKey
) -> None:
    assert (await ask(client, issued.text)).json()["pipelines_enabled"] is True
    changed = await parts.identity.set_pipelines(issued.key.organization_id, False)
    assert changed.pipelines_enabled is False
    assert (await ask(client, issued.text)).json()["pipelines_enabled"] is False


class TestFirstStart:
    async def test_an_empty_database_gets_one_key(
        self, client: httpx.AsyncClient, parts: AuthServices
    ) -> None:
        issued = await parts.identity.ensure_default(None)
        assert issued is not None
        body = (await ask(client, issued.text)).json()
        assert (body["name"], body["pipelines_enabled"]) == ("default", True)
        assert await parts.identity.ensure_default(None) is None

    async def test_two_processes_create_one_first_key(
        self, parts: AuthServices, clock: SettableClock
    ) -> None:
        starts = [Identity(parts.database, clock).ensure_default(None) for _ in range(6)]
        results = await asyncio.gather(*starts)
        assert len([issued for issued in results if issued is not None]) == 1
        (organization,) = await parts.identity.list_organizations()
        assert len(await parts.identity.list_keys(organization.id)) == 1

    async def test_the_key_from_the_settings_works(
        self, client: httpx.AsyncClient, parts: AuthServices
    ) -> None:
        results = await asyncio.gather(
            *(parts.identity.ensure_default("ef_dev_local") for _ in range(6))
        )
        assert results == [None] * 6
        (organization,) = await parts.identity.list_organizations()
        assert [key.key_id for key in await parts.identity.list_keys(organization.id)] == ["local"]
        assert (await ask(client, "ef_dev_local")).json()["name"] == "default"

    async def test_the_key_from_the_settings_replaces_an_earlier_one(
        self, client: httpx.AsyncClient, parts: AuthServices
    ) -> None:
        first = await parts.identity.ensure_default(None)
        assert first is not None
        await parts.identity.ensure_default("ef_old_local")
        await parts.identity.revoke_key("local")
        await parts.identity.ensure_default("ef_new_local")
        assert (await ask(client, "ef_old_local")).status_code == 401
        assert (await ask(client, "ef_new_local")).status_code == 200
        assert (await ask(client, first.text)).status_code == 200

    async def test_a_key_id_of_another_organization_is_left_alone(
        self, client: httpx.AsyncClient, parts: AuthServices, issued: IssuedKey
    ) -> None:
        with pytest.raises(KeyIdTaken):
            await parts.identity.ensure_default(f"ef_mine_{issued.key.key_id}")
        assert (await ask(client, issued.text)).json()["name"] == "Acme"

    @pytest.mark.parametrize("text", ["", "secret", "ef_a b_c", "ef__c"])
    async def test_a_malformed_key_in_the_settings_is_refused(
        self, parts: AuthServices, text: str
    ) -> None:
        with pytest.raises(InvalidKeyText, match="FRAMEKILN_API_KEY"):
            await parts.identity.ensure_default(text)
        assert await parts.identity.list_organizations() == []

    async def test_no_key_at_all_is_refused(self, parts: AuthServices) -> None:
        with pytest.raises(Unauthenticated, match="Authorization"):
            await parts.identity.authenticate(None)


class TestEveryRequest:
    async def test_has_an_id(self, client: httpx.AsyncClient) -> None:
        kept = await client.get("/healthz", headers={"X-Request-Id": "abc-1"})
        assert kept.headers["x-request-id"] == "abc-1"
        made = await client.get(ORGANIZATION, headers={"X-Request-Id": "a b<script>"})
        assert made.status_code == 401
        assert UUID(made.headers["x-request-id"])

    async def test_is_logged_without_its_secrets(
        self, client: httpx.AsyncClient, issued: IssuedKey
    ) -> None:
        with capture_logs() as lines:
            await client.get(f"{ORGANIZATION}?media_token=tok", headers=bearer(issued.text))
            await client.get("/api/v1/pipeline-callbacks/c4llb4ck")
        first, second = (line for line in lines if line["event"] == "request")
        assert (first["method"], first["path"], first["status"]) == ("GET", ORGANIZATION, 200)
        assert second["status"] == 405
        assert not any(
            word in str(lines) for word in (issued.text, "media_token", "tok=", "c4llb4ck")
        )

    async def test_is_counted_by_route(
        self, parts: AuthServices, client: httpx.AsyncClient
    ) -> None:
        async with parts.database.transaction() as connection:
            await parts.jobs.defer(connection, NewJob("render.run", {}, "renders"))
        await client.get(ORGANIZATION)
        await client.get("/nothing/17")
        text = (await client.get("http://localhost/metrics")).text
        assert (
            'framekiln_http_requests_total{method="GET",route="/api/v1/organization",status="401"}'
            " 1.0" in text
        )
        assert 'route="unmatched",status="404"} 1.0' in text
        assert 'framekiln_queue_depth{queue="renders",status="todo"} 1.0' in text
        await parts.jobs.close()
        without_queue = await client.get("http://localhost/metrics")
        assert without_queue.status_code == 200
        assert "framekiln_queue_depth{" not in without_queue.text

    @pytest.mark.parametrize(
        ("changes", "peer", "url", "headers", "status"),
        [
            ({}, "127.0.0.1", "http://localhost/", {}, 200),
            ({}, "::1", "http://[::1]:8080/", {}, 200),
            ({"host": "0.0.0.0"}, "127.0.0.1", "http://127.0.0.1:8080/", {}, 200),
            ({}, "203.0.113.9", "http://localhost/", {}, 403),
            # A page that leads a name of its own here, in a browser on this machine.
            ({}, "127.0.0.1", "http://evil.example/", {}, 403),
            # What a proxy on this machine passes on.
            ({"base_url": "https://kiln.example"}, "127.0.0.1", "http://127.0.0.1:8080/", {}, 403),
            ({"metrics_token": "t" * 16}, "203.0.113.9", "http://kiln/", bearer("t" * 16), 200),
            ({"metrics_token": "t" * 16}, "127.0.0.1", "http://localhost/", {}, 403),
            ({"metrics_token": "t" * 16}, "127.0.0.1", "http://localhost/", bearer("t"), 403),
        ],
    )
    async def test_metrics_are_refused_without_the_token(
        self,
        parts: AuthServices,
        changes: dict[str, str],
        peer: str,
        url: str,
        headers: dict[str, str],
        status: int,
    ) -> None:
        app = create_app(replace(parts, settings=Settings(**changes)))  # type: ignore[arg-type]
        transport = httpx.ASGITransport(app, client=(peer, 1))
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            answer = await client.get("/metrics", headers=headers)
        assert answer.status_code == status
        assert ("framekiln_http_requests" in answer.text) is (status == 200)
        if status == 403:
            assert answer.json()["error"] == "metrics_forbidden"

    async def test_may_come_from_another_origin(
        self, client: httpx.AsyncClient, issued: IssuedKey
    ) -> None:
        origin = "https://player.example"
        asked = {"Origin": origin, "Access-Control-Request-Headers": "authorization"}
        preflight = await client.options(ORGANIZATION, headers=asked)
        assert preflight.status_code == 204
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        for headers in (bearer(issued.text), {}):
            answer = await client.get(ORGANIZATION, headers={**headers, "Origin": origin})
            assert answer.headers["access-control-allow-origin"] == origin
            assert "access-control-allow-credentials" not in answer.headers
            assert "Origin" in answer.headers["vary"]
        nowhere = await client.get(ORGANIZATION, headers={"Origin": "null"})
        assert nowhere.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in nowhere.headers
        outside = await client.get("/healthz", headers={"Origin": origin})
        assert "access-control-allow-origin" not in outside.headers


async def test_health_and_readiness(
    client: httpx.AsyncClient, parts: AuthServices, tmp_path: Path
) -> None:
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    ready = await client.get("/readyz")
    assert ready.status_code == 200
    assert ready.json()["checks"] == {"database": "ok", "storage": "ok"}
    assert ready.json()["confined"] is (missing_confinement() == ())
    assert ready.json()["control_groups"] is has_control_groups()
    (tmp_path / "blobs").rmdir()
    broken = await client.get("/readyz")
    assert broken.status_code == 503
    assert broken.json()["checks"] == {"database": "ok", "storage": "failed"}
    assert "storage" in broken.json()["message"]
    await parts.database.close()
    assert (await client.get("/readyz")).json()["checks"]["database"] == "failed"
    assert (await client.get("/healthz")).status_code == 200


@pytest.mark.spec("7")
async def test_a_lost_database_is_a_503(client: httpx.AsyncClient, parts: AuthServices) -> None:
    await parts.database.close()
    answer = await ask(client, make_key())
    assert answer.status_code == 503
    assert answer.json()["error"] == "database_unavailable"
    assert answer.headers["retry-after"] == "5"


async def test_the_openapi_document_describes_authentication(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    assert document["info"]["title"] == "Framekiln"
    (scheme,) = document["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    operation = document["paths"][ORGANIZATION]["get"]
    assert operation["security"]
    assert "default" in operation["responses"]
    properties = document["components"]["schemas"]["OrganizationView"]["properties"]
    assert {"displayName", "apiKeyName", "display_name", "api_key_name"} <= set(properties)
