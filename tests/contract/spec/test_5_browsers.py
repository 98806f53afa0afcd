"""Clause 5: pages of other origins, and the people who may log in."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from framekiln.identity.errors import (
    EmailTaken,
    InvalidPassword,
    OrganizationNotFound,
    TokenScopeMismatch,
    UserNotFound,
)
from framekiln.identity.model import Role
from framekiln.identity.service import Identity
from framekiln.identity.signatures.scope import RequestTarget
from framekiln.identity.users import FIRST_EMAIL
from framekiln.kit.ids import OrganizationId
from framekiln.services import Services
from framekiln.settings import Settings
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL
from tests.support.clock import SettableClock
from tests.support.postgres import PostgresServer
from tests.support.sessions import OTHER, SessionHarness, open_session_harness, with_clock

pytestmark = pytest.mark.spec("5")

ORGANIZATION = "/api/v1/organization"
SIGN_ROUTES = ("/ef-sign-url", "/@ef-sign-url")


@pytest.fixture(scope="module")
async def place(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SessionHarness]:
    folder = tmp_path_factory.mktemp("sessions")
    async with open_session_harness(postgres, folder, template=TEMPLATE) as opened:
        yield opened


class TestCors:
    @pytest.mark.parametrize("method", ["GET", "OPTIONS"])
    @pytest.mark.parametrize(
        ("origin", "path", "allowed", "has_credentials"),
        [
            (BASE_URL, ORGANIZATION, BASE_URL, True),
            ("https://app.example", ORGANIZATION, "https://app.example", True),
            ("https://evil.example", ORGANIZATION, "https://evil.example", False),
            ("https://app.example.evil.example", ORGANIZATION, "*echo*", False),
            ("http://app.example", ORGANIZATION, "*echo*", False),
            ("null", ORGANIZATION, "*", False),
            (None, ORGANIZATION, "*", False),
            (BASE_URL, "/session", BASE_URL, True),
            ("https://app.example", "/session", "https://app.example", True),
            ("https://evil.example", "/session", None, False),
            ("null", "/session", None, False),
            (None, "/session", None, False),
            (BASE_URL, "/healthz", None, False),
        ],
    )
    async def test_credentials_are_allowed_only_for_trusted_origins(
        self,
        place: SessionHarness,
        method: str,
        origin: str | None,
        path: str,
        allowed: str | None,
        has_credentials: bool,
    ) -> None:
        browser = await place.logged_in()
        headers = {"Origin": origin} if origin else {}
        answer = await browser.request(method, path, headers=headers)
        granted = answer.headers.get("access-control-allow-origin")
        assert granted == (origin if allowed == "*echo*" else allowed)
        credentials = answer.headers.get("access-control-allow-credentials")
        assert credentials == ("true" if has_credentials else None)
        if path != "/healthz":
            assert "Origin" in answer.headers["vary"]

    async def test_the_preflight_of_an_upload_is_allowed_from_any_origin(
        self, place: SessionHarness
    ) -> None:
        asked = {
            **OTHER,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-digest,content-type",
        }
        answer = await place.browser().options("/api/v1/files/1/upload", headers=asked)
        assert answer.status_code == 204
        methods = answer.headers["access-control-allow-methods"].split(", ")
        assert {"GET", "HEAD", "POST", "PUT", "DELETE"} <= set(methods)
        names = answer.headers["access-control-allow-headers"].lower().split(", ")
        read = {"authorization", "content-range", "content-type", "content-digest", "range"}
        conditions = {"if-none-match", "if-range", "if-modified-since"}
        assert read | conditions | {"idempotency-key", "last-event-id"} <= set(names)
        assert "access-control-allow-credentials" not in answer.headers

    async def test_errors_have_cors_headers(self, place: SessionHarness) -> None:
        answer = await place.browser().get(ORGANIZATION, headers=OTHER)
        assert answer.status_code == 401
        assert answer.headers["access-control-allow-origin"] == OTHER["Origin"]


class TestHosts:
    async def test_a_session_is_accepted_only_at_known_hosts(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        evil = {"Host": "evil.example", "Origin": "http://evil.example"}
        for method, path in (
            ("GET", ORGANIZATION),
            ("GET", "/session"),
            ("POST", "/api/v1/renders"),
            ("POST", "/ef-sign-url"),
            ("POST", "/logout"),
            ("POST", "/login"),
        ):
            answer = await browser.request(method, path, headers=evil, json={})
            assert (answer.status_code, answer.json()["error"]) == (421, "unknown_host"), path
            assert answer.headers.get("access-control-allow-credentials") is None
        assert (await browser.get("/session")).status_code == 200
        # At a plain address nobody else can be.
        assert (await browser.get("/session", headers={"Host": "10.1.2.3:80"})).status_code == 200

    async def test_keys_are_accepted_at_any_host(self, place: SessionHarness) -> None:
        answer = await place.kiln.client.get(ORGANIZATION, headers={"Host": "inside.example"})
        assert answer.status_code == 200

    async def test_at_an_unknown_host_a_key_signs_only_exact_paths(
        self, place: SessionHarness
    ) -> None:
        body = {"url": "http://evil.example/api/v1/files"}
        headers = {"Host": "evil.example"}
        signed = await place.kiln.client.post("/api/v1/url-token", json=body, headers=headers)
        target = RequestTarget("/api/v1/files/1")
        with pytest.raises(TokenScopeMismatch):
            await place.services.tokens.read_url(signed.json()["token"], target)


class TestUsers:
    async def test_users_are_created_listed_and_deleted(self, place: SessionHarness) -> None:
        users, organization = place.services.users, place.organization
        issued = await users.create("Ada@Example.org", organization.id, role=Role.OWNER)
        assert issued.user.email == "ada@example.org"
        await place.services.sessions.log_in("ada@example.org", issued.password)
        (found,) = [each for each in await users.list_members() if each.user == issued.user]
        assert (found.organization, found.role) == (organization, Role.OWNER)
        with pytest.raises(EmailTaken):
            await users.create("ADA@example.org", organization.id)
        changed = await users.set_password("ada@example.ORG")
        assert changed.password != issued.password
        await users.delete("ada@example.org")
        for call in (users.delete("ada@example.org"), users.set_password("ada@example.org")):
            with pytest.raises(UserNotFound):
                await call
        with pytest.raises(OrganizationNotFound):
            await users.create("ada@example.org", OrganizationId(uuid4()))
        with pytest.raises(InvalidPassword):
            await users.create("ada@example.org", organization.id, password="short")

    async def test_the_first_user_is_created_once(
        self, postgres: PostgresServer, tmp_path: Path, clock: SettableClock
    ) -> None:
        name = f"test_{uuid4().hex}"
        conninfo = postgres.create_database(name, template=TEMPLATE)
        settings = Settings(data=tmp_path)
        async with Services.open(settings, conninfo) as opened:
            services = with_clock(opened, clock)
            assert await services.users.ensure_first() is None
            await Identity(services.database, clock).ensure_default(None)
            made = await asyncio.gather(*(services.users.ensure_first() for _ in range(4)))
            (first,) = [each for each in made if each is not None]
            (member,) = await services.users.list_members()
            assert (member.user, member.role) == (first.user, Role.OWNER)
            assert member.organization.name == "default"
            await services.sessions.log_in(FIRST_EMAIL, first.password)
        postgres.drop_database(name)
