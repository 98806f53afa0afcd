"""The studio: its files, their headers, and the login links that open it."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from framekiln.identity.errors import UserNotFound
from framekiln.studio import assets
from tests.contract.conftest import TEMPLATE
from tests.support.postgres import PostgresServer
from tests.support.sessions import OTHER, OWN, SessionHarness, open_session_harness

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

    async def test_nobody_gets_a_code_for_an_unknown_address(self, place: SessionHarness) -> None:
        with pytest.raises(UserNotFound):
            await place.services.users.issue_login_code("nobody@example.org", lifetime=HOUR)

    @pytest.mark.parametrize("body", [{}, {"code": 1}, {"code": ""}])
    async def test_a_body_without_a_code_is_refused(
        self, place: SessionHarness, body: dict[str, object]
    ) -> None:
        answer = await place.browser().post("/login/code", json=body)
        assert answer.status_code in (400, 401)
