"""The studio: its files, their headers, and the login links that open it."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from framekiln.identity import service
from framekiln.identity.errors import TooManyKeys, UserNotFound
from framekiln.identity.throttle import FREE_ATTEMPTS
from framekiln.studio import assets
from tests.contract.conftest import TEMPLATE
from tests.support.postgres import PostgresServer
from tests.support.sessions import OTHER, OWN, SessionHarness, open_session_harness
from tests.support.timeouts import TIMEOUT_S

PAGES = ("/", "/studio", "/studio/renders", "/studio/renders/some-id", "/studio/runs/id/steps")
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
async def place(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SessionHarness]:
    folder = tmp_path_factory.mktemp("studio")
    async with open_session_harness(postgres, folder, template=TEMPLATE) as opened:
        yield opened


class TestFiles:
    @pytest.mark.parametrize("path", PAGES)
    async def test_every_page_is_the_same_document(self, place: SessionHarness, path: str) -> None:
        answer = await place.browser().get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.content == assets.page("app").content

    async def test_a_page_may_run_only_scripts_of_the_service_and_be_framed_by_nobody(
        self, place: SessionHarness
    ) -> None:
        answer = await place.browser().get("/")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert not re.search(r"<script(?![^>]*src=)|<style| on\w+=", answer.text)

    @pytest.mark.parametrize("name", ["app", "preview"])
    async def test_what_a_page_loads_is_there_and_kept_by_browsers(
        self, place: SessionHarness, name: str
    ) -> None:
        found = re.findall(r'(?:src|href)="(/[^"]+)"', assets.page(name).content.decode())
        assert len(found) == 2
        for path in found:
            answer = await place.browser().get(path)
            assert answer.status_code == 200, path
            assert answer.headers["cache-control"].endswith("immutable")

    @pytest.mark.parametrize("name", ["none.js", "..%2fassets.py", "assets.py", "%2e%2e"])
    async def test_no_other_file_is_sent(self, place: SessionHarness, name: str) -> None:
        answer = await place.browser().get(assets.PREFIX + name)
        assert "text/html" in answer.headers["content-type"] or answer.status_code == 404
        assert b"import" not in answer.content


class TestLoginLinks:
    async def log_in(self, place: SessionHarness, code: str, **headers: str) -> httpx.Response:
        return await place.browser().post("/login/code", json={"code": code}, headers=headers)

    async def test_a_code_logs_its_user_in_once(self, place: SessionHarness) -> None:
        email = await place.user()
        code = await place.services.users.issue_login_code(email, lifetime=HOUR)
        browser = place.browser()
        answer = await browser.post("/login/code", json={"code": code}, headers=OWN)
        assert answer.json()["user"]["email"] == email
        assert (await browser.get("/session")).json()["user"]["email"] == email
        again = await self.log_in(place, code)
        assert (again.status_code, again.json()["error"]) == (401, "login_failed")
        assert "framekiln users login-link" in again.json()["message"]

    async def test_a_code_expires(self, place: SessionHarness) -> None:
        code = await place.services.users.issue_login_code(await place.user(), lifetime=HOUR)
        place.clock.advance(HOUR)
        assert (await self.log_in(place, code)).status_code == 401

    async def test_a_new_password_ends_the_codes_before_it(self, place: SessionHarness) -> None:
        email = await place.user()
        code = await place.services.users.issue_login_code(email, lifetime=HOUR)
        await place.services.users.set_password(email, "another password")
        assert (await self.log_in(place, code)).status_code == 401

    async def test_a_page_of_another_origin_cannot_use_a_code(self, place: SessionHarness) -> None:
        code = await place.services.users.issue_login_code(await place.user(), lifetime=HOUR)
        refused = await self.log_in(place, code, **OTHER)
        assert (refused.status_code, refused.json()["error"]) == (403, "cross_origin")
        assert (await self.log_in(place, code, **OWN)).status_code == 200

    async def test_a_login_ends_the_session_before_it(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        stolen = dict(browser.cookies)
        code = await place.services.users.issue_login_code(await place.user(), lifetime=HOUR)
        await browser.post("/login/code", json={"code": code}, headers=OWN)
        other = place.browser()
        other.cookies.update(stolen)
        assert (await other.get("/session")).status_code == 401

    async def test_codes_that_do_not_work_slow_their_network_down(
        self, place: SessionHarness
    ) -> None:
        stranger = place.browser("203.0.113.77")
        code = await place.services.users.issue_login_code(await place.user(), lifetime=HOUR)
        for _ in range(FREE_ATTEMPTS):
            assert (await stranger.post("/login/code", json={"code": "x"})).status_code == 401
        refused = await stranger.post("/login/code", json={"code": code})
        assert (refused.status_code, refused.json()["error"]) == (429, "too_many_attempts")
        assert (await self.log_in(place, code)).status_code == 200

    async def test_nobody_gets_a_code_for_an_unknown_address(self, place: SessionHarness) -> None:
        with pytest.raises(UserNotFound):
            await place.services.users.issue_login_code("nobody@example.org", lifetime=HOUR)

    @pytest.mark.parametrize("body", [{}, {"code": 1}, {"code": ""}])
    async def test_a_body_without_a_code_is_refused(
        self, place: SessionHarness, body: dict[str, object]
    ) -> None:
        answer = await place.browser().post("/login/code", json=body)
        assert answer.status_code in (400, 401)


class TestKeys:
    async def test_a_user_makes_lists_and_revokes_keys(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        made = (await browser.post("/api/v1/keys", json={"name": "shop"}, headers=OWN)).json()
        authorization = {"Authorization": f"Bearer {made['text']}"}
        program = place.browser(**authorization)
        assert (await program.get("/api/v1/organization")).json()["api_key_name"] == "shop"
        listed = (await browser.get("/api/v1/keys")).json()["keys"]
        assert [key["name"] for key in listed if key["key_id"] == made["key_id"]] == ["shop"]
        assert made["text"] not in str(listed)
        ended = await browser.delete(f"/api/v1/keys/{made['key_id']}", headers=OWN)
        assert ended.json()["revoked_at"] is not None
        assert (await program.get("/api/v1/organization")).status_code == 401

    async def test_an_organization_has_a_limited_number_of_keys(
        self, place: SessionHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        identity = place.services.identity
        other = await identity.create_organization("Limited")
        monkeypatch.setattr(service, "MAX_KEYS", 1)
        first = await identity.create_key(other.id, "first")
        with pytest.raises(TooManyKeys):
            await identity.create_key(other.id, "second")
        await identity.revoke_key(first.key.key_id)
        await identity.create_key(other.id, "second")

    async def test_a_key_cannot_manage_keys(self, place: SessionHarness) -> None:
        issued = await place.services.identity.create_key(place.organization.id, "program")
        program = place.browser(Authorization=f"Bearer {issued.text}")
        for method, path in (
            ("GET", "/api/v1/keys"),
            ("POST", "/api/v1/keys"),
            ("DELETE", f"/api/v1/keys/{issued.key.key_id}"),
        ):
            assert (await program.request(method, path, json={})).status_code == 401

    async def test_a_key_of_another_organization_cannot_be_revoked(
        self, place: SessionHarness
    ) -> None:
        identity = place.services.identity
        other = await identity.create_organization("Other")
        issued = await identity.create_key(other.id, "theirs")
        browser = await place.logged_in()
        answer = await browser.delete(f"/api/v1/keys/{issued.key.key_id}", headers=OWN)
        assert (answer.status_code, answer.json()["error"]) == (404, "api_key_not_found")
        assert (await identity.authenticate(issued.text)).organization.id == other.id

    async def test_a_page_of_another_origin_cannot_make_a_key(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        answer = await browser.post("/api/v1/keys", json={"name": "x"}, headers=OTHER)
        assert answer.json()["error"] == "cross_origin"


class TestActivity:
    async def test_a_change_of_the_organization_wakes_its_followers_and_no_others(
        self, place: SessionHarness
    ) -> None:
        other = await place.services.identity.create_organization("Quiet")
        notifications = place.services.notifications
        async with (
            notifications.follow(f"organization:{place.organization.id}:render") as follower,
            notifications.follow(f"organization:{place.organization.id}:file") as files,
            notifications.follow(f"organization:{other.id}:render") as quiet,
        ):
            browser = await place.logged_in()
            body = {"html": "<p>Hello", "width": 64, "height": 36, "duration_ms": 100}
            made = await browser.post("/api/v1/renders", json=body, headers=OWN)
            assert made.status_code == 201, made.text
            assert await follower.wait(TIMEOUT_S)
            assert not await files.wait(0)
            assert not await quiet.wait(0)


class TestSource:
    async def test_the_page_of_a_render_is_sent_as_plain_text(self, place: SessionHarness) -> None:
        browser = await place.logged_in()
        html = "<script>alert(document.cookie)</script>"
        body = {"html": html, "width": 64, "height": 36, "duration_ms": 100}
        made = (await browser.post("/api/v1/renders", json=body, headers=OWN)).json()
        answer = await browser.get(f"/api/v1/renders/{made['id']}/source")
        assert answer.text == html
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
