"""Clause 5, sessions: logging in, what a cookie opens, and what other people's pages do not get."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from framekiln.api.app import create_app
from framekiln.api.auth import SESSION_COOKIE
from framekiln.api.sessions import DEVICE_COOKIE
from framekiln.identity.errors import LoginFailed
from framekiln.identity.passwords import Passwords
from framekiln.identity.service import CACHE_FOR
from framekiln.identity.sessions import LIFETIME
from framekiln.identity.signatures.scope import RequestTarget
from framekiln.identity.throttle import FORGET_AFTER
from framekiln.identity.users import FIRST_EMAIL
from framekiln.kit.errors import Unauthenticated
from framekiln.services import Services
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL, open_app
from tests.support.postgres import PostgresServer
from tests.support.sessions import (
    FAST_HASHER,
    OTHER,
    OWN,
    PASSWORD,
    SessionHarness,
    new_sessions,
    open_session_harness,
)

pytestmark = pytest.mark.spec("5")

ORGANIZATION = "/api/v1/organization"
SECURE = f"__Host-{SESSION_COOKIE}"
SIGN_ROUTES = ("/ef-sign-url", "/@ef-sign-url")


@pytest.fixture(scope="module")
async def place(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SessionHarness]:
    folder = tmp_path_factory.mktemp("sessions")
    async with open_session_harness(postgres, folder, template=TEMPLATE) as opened:
        yield opened


def cookie_of(answer: httpx.Response, name: str = SESSION_COOKIE) -> "Morsel[str]":
    cookies: SimpleCookie = SimpleCookie()
    for text in answer.headers.get_list("set-cookie"):
        cookies.load(text)
    return cookies[name]


class TestLogin:
    @pytest.mark.parametrize("kind", ["json", "data"])
    @pytest.mark.parametrize("content_type", [None, "text/plain", "application/json"])
    async def test_a_login_may_be_json_or_a_form_with_any_content_type(
        self, place: SessionHarness, kind: str, content_type: str | None
    ) -> None:
        email = await place.user()
        fields = {"email": f" {email.upper()} ", "password": PASSWORD}
        asked: dict[str, Any] = {kind: fields}
        built = place.browser().build_request("POST", "/login", **asked)
        headers = {"Content-Type": content_type} if content_type else {}
        browser = place.browser()
        answer = await browser.post("/login", content=built.content, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert UUID(body["user"].pop("id"))
        assert body == {
            "user": {"email": email},
            "organization": {"id": str(place.organization.id), "name": "Acme"},
            "role": "member",
            "organizations": [{"id": str(place.organization.id), "name": "Acme", "role": "member"}],
        }
        assert (await browser.get("/session")).json()["user"]["email"] == email

    async def test_the_cookie_is_kept_from_scripts_and_other_sites(
        self, place: SessionHarness
    ) -> None:
        body = {"email": await place.user(), "password": PASSWORD}
        answer = await place.browser().post("/login", json=body)
        assert len(cookie_of(answer).value) >= 43
        for name in (SESSION_COOKIE, DEVICE_COOKIE):
            cookie = cookie_of(answer, name)
            assert cookie["httponly"] is True
            assert cookie["samesite"] == "lax"
            assert cookie["path"] == "/"
            assert cookie["domain"] == ""
            assert cookie["secure"] == ""

    async def test_behind_https_it_is_secure_and_passwords_are_really_hashed(
        self, postgres: PostgresServer, tmp_path: Path
    ) -> None:
        async with open_app(postgres, tmp_path, template=TEMPLATE) as app:
            settings = app.services.settings.model_copy(update={"base_url": "https://kiln.example"})
            services = replace(app.services, settings=settings)
            first = await services.users.ensure_first()
            assert first is not None
            transport = httpx.ASGITransport(create_app(services))
            public = "https://kiln.example"
            async with httpx.AsyncClient(transport=transport, base_url=public) as browser:
                body = {"email": FIRST_EMAIL, "password": first.password}
                answer = await browser.post("/login", json=body)
                for name in (SESSION_COOKIE, DEVICE_COOKIE):
                    # Browsers let no other host of the site set a cookie of such a name.
                    cookie = cookie_of(answer, f"__Host-{name}")
                    assert cookie["secure"] is True
                    assert (cookie["path"], cookie["domain"]) == ("/", "")
                assert (await browser.get("/session")).status_code == 200
                planted = {"Cookie": f"{SESSION_COOKIE}={cookie_of(answer, SECURE).value}"}
                browser.cookies.clear()
                assert (await browser.get("/session", headers=planted)).status_code == 401
            stored = await all_rows(services, "user_account")
            assert "$argon2id$" in stored
            assert first.password not in stored

    async def test_wrong_passwords_and_unknown_users_get_the_same_error(
        self, place: SessionHarness
    ) -> None:
        email = await place.user()
        answers = [
            await place.browser().post("/login", json={"email": each, "password": password})
            for each, password in (
                (email, "wrong"),
                (email, PASSWORD + " "),
                ("nobody@example.org", PASSWORD),
                ("no address", PASSWORD),
                ("a\x7f@b", PASSWORD),
            )
        ]
        assert {answer.status_code for answer in answers} == {401}
        assert {answer.json()["error"] for answer in answers} == {"login_failed"}
        assert len({answer.text for answer in answers}) == 1
        assert all("set-cookie" not in answer.headers for answer in answers)

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            (b"", "email"),
            (b"{}", "email"),
            (b'{"email": "a@b"}', "password"),
            (b'{"email": 1, "password": "x"}', "email"),
            (b"email=a%40b&password=", "password"),
            (b"[1]", "email"),
            (b"email=%ff&password=x", None),
            ("email=ä".encode(), None),
        ],
    )
    async def test_an_incomplete_login_is_a_400(
        self, place: SessionHarness, body: bytes, field: str | None
    ) -> None:
        answer = await place.browser().post("/login", content=body)
        assert answer.status_code == 400
        assert answer.json()["error"] == "invalid_request"
        assert answer.json().get("field") == field

    async def test_pages_of_other_origins_cannot_log_in(self, place: SessionHarness) -> None:
        body = {"email": await place.user(), "password": PASSWORD}
        for headers in (OTHER, {"Origin": "null"}, {"Referer": "https://evil.example/x"}):
            answer = await place.browser().post("/login", json=body, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (403, "cross_origin")
        assert (await place.browser().post("/login", json=body, headers=OWN)).status_code == 200

    async def test_logging_in_again_ends_the_previous_session(self, place: SessionHarness) -> None:
        email = await place.user()
        browser = await place.logged_in(email)
        before = browser.cookies[SESSION_COOKIE]
        again = await browser.post("/login", json={"email": email, "password": PASSWORD})
        assert again.status_code == 200
        assert browser.cookies[SESSION_COOKIE] != before
        with pytest.raises(Unauthenticated):
            await place.services.sessions.authenticate(before)


class TestSession:
    async def test_a_session_gives_access_to_its_organization(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        body = (await browser.get(ORGANIZATION)).json()
        assert body["name"] == "Acme"
        assert (body["apiKeyName"], body["api_key_name"]) == ("", "")
        created = await browser.post("/api/v1/renders", json={}, headers=OWN)
        assert created.status_code == 201
        path = f"/api/v1/renders/{created.json()['id']}"
        assert (await browser.get(path)).status_code == 200
        assert (await browser.get(f"{path}.mp4")).json()["error"] == "render_not_complete"
        assert (await place.kiln.client.get(path)).status_code == 404

    async def test_a_key_takes_precedence_over_the_session(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        wrong = {"Authorization": "Bearer ef_wrong_key"}
        assert (await browser.get(ORGANIZATION, headers=wrong)).status_code == 401
        key = {"Authorization": f"Bearer {place.kiln.key}"}
        assert (await browser.get(ORGANIZATION, headers=key)).json()["name"] != "Acme"
        # And with a key no page needs to be ours.
        posted = await browser.post("/api/v1/renders", json={}, headers={**key, **OTHER})
        assert posted.status_code == 201

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            (OWN, 201),
            ({"Referer": f"{BASE_URL}/editor?x=1"}, 201),
            ({"Origin": "https://app.example"}, 201),
            ({}, 403),
            (OTHER, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": BASE_URL + ".evil.example"}, 403),
            ({"Origin": "null", "Referer": BASE_URL}, 403),
            ({"Referer": "https://evil.example/?" + BASE_URL}, 403),
            ({**OTHER, "X-Forwarded-Host": "evil.example"}, 403),
        ],
    )
    async def test_sessions_can_change_data_only_from_trusted_origins(
        self, place: SessionHarness, headers: dict[str, str], status: int
    ) -> None:
        browser = await place.logged_in()
        answer = await browser.post("/api/v1/renders", json={}, headers=headers)
        assert answer.status_code == status
        if status == 403:
            assert answer.json()["error"] == "cross_origin"
            signed = await browser.post("/ef-sign-url", json={"url": "/a"}, headers=headers)
            assert signed.status_code == 403
            assert (await browser.post("/logout", headers=headers)).status_code == 403
            assert (await browser.get("/session")).status_code == 200

    async def test_logging_out_ends_it_at_once(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        text = browser.cookies[SESSION_COOKIE]
        assert (await browser.get("/session")).status_code == 200
        answer = await browser.post("/logout", headers=OWN)
        assert answer.json() == {"success": True}
        assert cookie_of(answer)["max-age"] == "0"
        stolen = place.browser(Cookie=f"{SESSION_COOKIE}={text}")
        assert (await stolen.get(ORGANIZATION)).status_code == 401
        assert (await place.browser().post("/logout")).status_code == 200

    @pytest.mark.parametrize("text", ["", "nobody", "x" * 5000, "ä"])
    async def test_an_unknown_cookie_is_a_401(self, place: SessionHarness, text: str) -> None:
        browser = place.browser()
        headers = [(b"cookie", f"{SESSION_COOKIE}={text}".encode())]
        for path in ("/session", ORGANIZATION):
            answer = await browser.get(path, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (401, "unauthorized")

    async def test_a_session_expires_when_it_is_not_used(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        for _ in range(3):
            place.clock.advance(LIFETIME - timedelta(minutes=1))
            assert (await browser.get("/session")).status_code == 200
        place.clock.advance(LIFETIME)
        assert (await browser.get("/session")).status_code == 401
        assert await place.services.sessions.remove_expired() >= 1
        assert await all_rows(place.services, "login_session") == "[]"

    async def test_old_login_attempts_are_removed(self, place: SessionHarness) -> None:
        with pytest.raises(LoginFailed):
            await place.services.sessions.log_in("old@example.org", PASSWORD)
        place.clock.advance(FORGET_AFTER)
        await place.services.sessions.remove_expired()
        assert "old@example.org" not in await all_rows(place.services, "login_attempt")

    async def test_the_cookie_is_not_stored_in_the_database(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        assert browser.cookies[SESSION_COOKIE] not in await all_rows(
            place.services, "login_session"
        )

    async def test_a_new_password_ends_all_sessions(self, place: SessionHarness) -> None:
        email = await place.user()
        one, two = await place.logged_in(email), await place.logged_in(email)
        other = await place.logged_in()
        await place.services.users.set_password(email, "another password")
        place.clock.advance(CACHE_FOR)
        assert (await one.get("/session")).status_code == 401
        assert (await two.get(ORGANIZATION)).status_code == 401
        assert (await other.get("/session")).status_code == 200
        with pytest.raises(LoginFailed):
            await place.services.sessions.log_in(email, PASSWORD)
        await place.services.sessions.log_in(email, "another password")

    async def test_a_password_changed_during_a_login_fails_the_login(
        self, place: SessionHarness
    ) -> None:
        email, services = await place.user(), place.services

        class SlowPasswords(Passwords):
            async def matches(self, password_hash: str | None, password: str) -> bool:
                is_right = await super().matches(password_hash, password)
                await services.users.set_password(email, "another password")
                return is_right

        late = new_sessions(services, SlowPasswords(FAST_HASHER), place.clock)
        with pytest.raises(LoginFailed):
            await late.log_in(email, PASSWORD)

    async def test_deleting_a_user_ends_their_sessions(self, place: SessionHarness) -> None:
        email = await place.user()
        browser = await place.logged_in(email)
        await place.services.users.delete(email)
        assert (await browser.get("/session")).status_code == 401


@pytest.mark.spec("4.6")
class TestSignedUrls:
    @pytest.mark.parametrize("route", SIGN_ROUTES)
    @pytest.mark.parametrize("content_type", ["text/plain;charset=UTF-8", "application/json", ""])
    async def test_a_session_can_sign_with_any_content_type(
        self, place: SessionHarness, route: str, content_type: str
    ) -> None:
        browser, path = await place.logged_in(), f"/api/v1/files/{uuid4()}"
        answer = await browser.post(
            route,
            content=f'{{"url": "{BASE_URL}{path}"}}',
            headers={**OWN, "Content-Type": content_type},
        )
        assert answer.status_code == 200
        assert list(answer.json()) == ["token"]
        token = answer.json()["token"]
        tokens = place.services.tokens
        assert await tokens.read_url(token, RequestTarget(f"{path}/index")) == place.organization.id

    async def test_a_session_token_cannot_upload(self, place: SessionHarness) -> None:
        browser, asked = await place.logged_in(), RequestTarget("/api/v1/unprocessed_files")
        for route in ("/ef-sign-url", "/api/v1/url-token"):
            answer = await browser.post(route, json={"url": asked.path}, headers=OWN)
            with pytest.raises(Unauthenticated, match="only allows reading"):
                await place.services.tokens.read_upload(answer.json()["token"], asked)

    @pytest.mark.parametrize("route", SIGN_ROUTES)
    async def test_invalid_bodies_and_methods_are_refused(
        self, place: SessionHarness, route: str
    ) -> None:
        browser = await place.logged_in()
        for body in (b"", b"{}", b"[]", b'{"url": null}', b"nonsense"):
            answer = await browser.post(route, content=body, headers=OWN)
            assert answer.status_code == 400
            assert answer.json()["error"]
        for method in ("GET", "PUT", "DELETE"):
            assert (await browser.request(method, route, headers=OWN)).status_code == 405
        asked = {"url": "/api/v1/files/1"}
        assert (await place.browser().post(route, json=asked, headers=OWN)).status_code == 401
        # An API key is for the other route.
        assert (await place.kiln.client.post(route, json=asked, headers=OWN)).status_code == 401


async def all_rows(services: Services, table: str) -> str:
    async with services.database.connection() as connection:
        cursor = await connection.execute(f"SELECT * FROM {table}")
        return str(await cursor.fetchall())
