"""Members, invitations, roles and keys of an organization, through the API."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from psycopg import DatabaseError

from framekiln.api import sse
from framekiln.api.sse import StreamPlaces
from framekiln.audit.log import record
from framekiln.audit.model import AuditFilter
from framekiln.audit.service import AuditLog
from framekiln.identity.model import Role
from tests.contract.conftest import TEMPLATE
from tests.support.jobs import wait_until
from tests.support.postgres import PostgresServer
from tests.support.sessions import OTHER, OWN, PASSWORD, SessionHarness, open_session_harness
from tests.support.videos import template_body

API = "/api/v1"
HOOK = "https://93.184.215.14/hook?token=hidden"
DEFINITION = {"steps": {"facts": {"type": "probe"}}}
LAYERS = {
    "dimensions": {"width": 64, "height": 64},
    "duration": 1,
    "layers": [{"id": "t", "type": "text", "text": {"text": "Hello"}}],
}


@pytest.fixture(scope="module")
async def place(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SessionHarness]:
    folder = tmp_path_factory.mktemp("people")
    async with open_session_harness(postgres, folder, template=TEMPLATE) as opened:
        yield opened


@pytest.fixture
async def owner(place: SessionHarness) -> httpx.AsyncClient:
    """A browser of an owner, whose requests come from our own page."""
    browser = await place.logged_in(await place.user(Role.OWNER))
    browser.headers.update(OWN)
    return browser


async def invite(owner: httpx.AsyncClient, **body: Any) -> tuple[Any, str]:
    """Return an invitation and the token of its link."""
    wanted = {"email": f"{uuid4()}@example.org", "role": "reviewer", **body}
    made = await owner.post(f"{API}/invitations", json=wanted)
    assert made.status_code == 201, made.text
    url = urlsplit(made.json()["url"])
    assert url.path == "/studio/invitation"
    return made.json(), url.fragment.removeprefix("invitation=")


async def accept(place: SessionHarness, token: str, password: str = PASSWORD) -> Any:
    browser = place.browser(**OWN)
    body = {"token": token, "password": password}
    return browser, await browser.post("/login/invitation/accept", json=body)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


async def actions(owner: httpx.AsyncClient, **query: str) -> list[Any]:
    found = await owner.get(f"{API}/audit", params={"limit": 100, **query})
    assert found.status_code == 200, found.text
    return list(found.json()["events"])


class TestInvitations:
    async def test_a_new_user_joins_once_with_a_password_of_their_own(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        invitation, token = await invite(owner)
        shown = await place.browser(**OWN).post("/login/invitation", json={"token": token})
        assert shown.json() == {
            "organization": "Acme",
            "email": invitation["email"],
            "role": "reviewer",
            "expires_at": invitation["expires_at"],
            "has_account": False,
        }
        listed = (await owner.get(f"{API}/invitations")).json()["invitations"]
        assert invitation["id"] in [each["id"] for each in listed]
        assert token not in str(listed)
        _, answer = await accept(place, token, "short")
        assert refusal(answer) == (400, "invalid_password")
        browser, answer = await accept(place, token)
        assert answer.json()["role"] == "reviewer"
        assert (await browser.get("/session")).json()["user"]["email"] == invitation["email"]
        _, again = await accept(place, token)
        assert refusal(again) == (404, "invitation_not_found")
        await place.logged_in(invitation["email"])
        members = (await owner.get(f"{API}/members")).json()["members"]
        assert (invitation["email"], "reviewer") in [(it["email"], it["role"]) for it in members]
        [joined] = await actions(owner, action="member.joined", actor=invitation["email"])
        assert joined["details"]["invited_by"] == invitation["invited_by"]

    async def test_a_user_joins_another_organization_with_their_password_and_switches(
        self, place: SessionHarness, owner: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = await place.services.identity.create_organization(f"other {uuid4()}")
        email = f"{uuid4()}@example.org"
        await place.services.users.create(email, other.id, role=Role.OWNER, password=PASSWORD)
        _, token = await invite(owner, email=email, role="member")
        shown = await place.browser(**OWN).post("/login/invitation", json={"token": token})
        assert shown.json()["has_account"] is True
        _, refused = await accept(place, token, "not the password")
        assert refusal(refused) == (401, "login_failed")
        browser, answer = await accept(place, token)
        joined = answer.json()
        assert (joined["organization"]["name"], joined["role"]) == ("Acme", "member")
        assert {(it["name"], it["role"]) for it in joined["organizations"]} == {
            ("Acme", "member"),
            (other.name, "owner"),
        }
        monkeypatch.setattr(sse, "HEARTBEAT_S", 0.05)
        places: StreamPlaces = place.kiln.asgi.state.activity_places
        following = asyncio.ensure_future(browser.get(f"{API}/activity"))

        async def is_following() -> bool:
            return any(places._open.values())

        await wait_until(is_following)
        body = {"organization_id": str(other.id)}
        switched = await browser.post("/session/organization", json=body)
        assert "this session works in another organization now" in (await following).text
        assert switched.json()["role"] == "owner"
        assert (await browser.get(f"{API}/organization")).json()["name"] == other.name
        foreign = await place.services.identity.create_organization(f"foreign {uuid4()}")
        body = {"organization_id": str(foreign.id)}
        refused = await browser.post("/session/organization", json=body)
        assert refusal(refused) == (404, "organization_not_found")
        assert (await browser.get("/session")).json()["organization"]["name"] == other.name

    async def test_a_link_ends_when_it_is_revoked_replaced_or_expired(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        invitation, revoked = await invite(owner)
        await owner.delete(f"{API}/invitations/{invitation['id']}")
        first, replaced = await invite(owner)
        _, second = await invite(owner, email=first["email"])
        for token in (revoked, replaced, "x"):
            _, answer = await accept(place, token)
            assert refusal(answer) == (404, "invitation_not_found")
        place.clock.advance(timedelta(days=8))
        _, answer = await accept(place, second)
        assert refusal(answer) == (410, "invitation_expired")

    async def test_what_is_wrong_is_named_at_the_field(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        member = await place.user()
        for body, code, field in (
            ({"email": "nobody"}, "invalid_email", "email"),
            ({"email": member}, "already_member", "email"),
            ({"email": "a@b.example", "role": "king"}, "invalid_request", "role"),
            ({"email": "a@b.example", "expires_in_s": 1}, "invalid_request", "expires_in_s"),
        ):
            answer = await owner.post(f"{API}/invitations", json=body)
            assert (answer.json()["error"], answer.json()["field"]) == (code, field)

    async def test_a_page_of_another_origin_accepts_nothing(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        _, token = await invite(owner)
        for path in ("/login/invitation", "/login/invitation/accept"):
            body = {"token": token, "password": PASSWORD}
            answer = await place.browser(**OTHER).post(path, json=body)
            assert refusal(answer) == (403, "cross_origin")


class TestMembers:
    async def test_a_new_role_counts_at_once(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        email = await place.user()
        member = await place.logged_in(email)
        found = (await owner.get(f"{API}/members")).json()["members"]
        user_id = next(each["user_id"] for each in found if each["email"] == email)
        assert (await member.get(f"{API}/renders")).status_code == 200
        refused = await member.get(f"{API}/members")
        assert refusal(refused) == (403, "role_too_low")
        assert refused.json()["role"] == "owner"
        assert "needs the role owner in Acme" in refused.json()["message"]
        assert "@example.org" in refused.json()["message"]
        changed = await owner.patch(f"{API}/members/{user_id}", json={"role": "reviewer"})
        assert changed.json()["role"] == "reviewer"
        assert refusal(await member.get(f"{API}/renders")) == (403, "role_too_low")
        await owner.delete(f"{API}/members/{user_id}")
        assert (await member.get("/session")).status_code == 401
        recorded = await actions(owner, resource=user_id)
        assert [each["action"] for each in recorded] == [
            "member.removed",
            "member.role_changed",
            "session.started",
            "member.joined",
        ]
        assert recorded[1]["details"] == {"email": email, "before": "member", "role": "reviewer"}
        assert recorded[1]["actor"]["type"] == "user"
        assert recorded[1]["actor"]["address"] == "127.0.0.1"

    async def test_the_last_owner_stays(self, place: SessionHarness) -> None:
        organization = await place.services.identity.create_organization(f"small {uuid4()}")
        email = f"{uuid4()}@example.org"
        await place.services.users.create(
            email, organization.id, role=Role.OWNER, password=PASSWORD
        )
        browser = await place.logged_in(email)
        user_id = (await browser.get("/session")).json()["user"]["id"]
        path = f"{API}/members/{user_id}"
        for answer in (
            await browser.patch(path, json={"role": "member"}, headers=OWN),
            await browser.delete(path, headers=OWN),
        ):
            assert refusal(answer) == (409, "last_owner")
        assert (await browser.get("/session")).json()["role"] == "owner"

    async def test_people_of_other_organizations_are_not_found(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        other = await place.services.identity.create_organization(f"other {uuid4()}")
        issued = await place.services.users.create(f"{uuid4()}@example.org", other.id)
        made = await place.services.invitations.create(other.id, "a@example.org", Role.MEMBER)
        for answer in (
            await owner.patch(f"{API}/members/{issued.user.id}", json={"role": "owner"}),
            await owner.delete(f"{API}/members/{issued.user.id}"),
            await owner.delete(f"{API}/invitations/{made.invitation.id}"),
            await owner.delete(f"{API}/members/nobody"),
        ):
            assert answer.status_code == 404
        assert len(await place.services.invitations.list_all(other.id)) == 1


class TestKeys:
    async def test_a_rotated_key_has_two_secrets_until_the_overlap_ends(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        made = (await owner.post(f"{API}/keys", json={"name": "ci"})).json()
        path = f"{API}/keys/{made['key_id']}/rotate"
        rotated = (await owner.post(path, json={"overlap_s": 3600})).json()
        assert rotated["key_id"] == made["key_id"]
        assert rotated["text"] != made["text"]
        both = (made["text"], rotated["text"])
        assert [await self.status(place, text) for text in both] == [200, 200]
        place.clock.advance(timedelta(hours=2))
        assert [await self.status(place, text) for text in both] == [401, 200]
        third = (await owner.post(path, json={"overlap_s": 0})).json()
        assert await self.status(place, rotated["text"]) == 401
        assert await self.status(place, third["text"]) == 200
        await owner.delete(f"{API}/keys/{made['key_id']}")
        assert refusal(await owner.post(path, json={})) == (409, "api_key_revoked")
        recorded = [each["action"] for each in await actions(owner, resource=made["key_id"])]
        assert recorded == ["key.revoked", "key.rotated", "key.rotated", "key.created"]

    async def test_a_member_manages_only_their_own_keys(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        theirs = (await owner.post(f"{API}/keys", json={"name": "of the owner"})).json()
        email = await place.user()
        member = await place.logged_in(email)
        member.headers.update(OWN)
        own = (await member.post(f"{API}/keys", json={"name": "mine"})).json()
        assert own["made_by"] == email
        listed = (await member.get(f"{API}/keys")).json()["keys"]
        assert [each["key_id"] for each in listed] == [own["key_id"]]
        for answer in (
            await member.delete(f"{API}/keys/{theirs['key_id']}"),
            await member.post(f"{API}/keys/{theirs['key_id']}/rotate", json={}),
        ):
            assert refusal(answer) == (404, "api_key_not_found")
        assert (await owner.delete(f"{API}/keys/{own['key_id']}")).status_code == 200

    async def status(self, place: SessionHarness, text: str) -> int:
        headers = {"Authorization": f"Bearer {text}"}
        return (await place.browser().get(f"{API}/organization", headers=headers)).status_code


class TestAudit:
    async def test_every_change_of_a_resource_is_recorded_with_who_made_it(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        await place.services.identity.set_pipelines(place.organization.id, True)
        key = (await owner.post(f"{API}/keys", json={"name": "robot"})).json()
        program = place.browser(Authorization=f"Bearer {key['text']}")
        made = {}
        for name, path, body in (
            ("webhook", f"{API}/webhooks", {"url": HOOK, "events": ["render.*"]}),
            ("endpoint", f"{API}/pipeline-endpoints", {"url": HOOK}),
            ("pipeline", f"{API}/pipelines", {"name": "p", "definition": DEFINITION}),
            ("template", "/v2/templates", template_body(config=LAYERS, inputs={})),
            ("file", f"{API}/files", {"filename": "a.mp4", "type": "video", "byte_size": 10}),
            ("render", f"{API}/renders", {"width": 64, "height": 64}),
        ):
            answer = await program.post(path, json=body)
            assert answer.status_code == 201, answer.text
            found = answer.json()
            made[name] = found.get("data", found)["id"]
        link = await program.post(f"{API}/links", json={"url": f"{API}/files/{made['file']}"})
        made["link"] = link.json()["id"]
        for method, path in (
            ("DELETE", f"{API}/links/{made['link']}"),
            ("DELETE", f"{API}/files/{made['file']}"),
            ("POST", f"{API}/webhooks/{made['webhook']}/rotate-secret"),
            ("DELETE", f"{API}/webhooks/{made['webhook']}"),
            ("POST", f"{API}/pipeline-endpoints/{made['endpoint']}/archive"),
            ("POST", f"{API}/pipelines/{made['pipeline']}/archive"),
            ("DELETE", f"/v2/templates/{made['template']}"),
            # Repeated, it changes nothing, so it is recorded once.
            ("POST", f"{API}/pipelines/{made['pipeline']}/archive"),
        ):
            answer = await program.request(method, path)
            assert answer.status_code < 300, (path, answer.text)
        events = await actions(owner, actor=key["key_id"])
        assert [each["action"] for each in reversed(events)] == [
            "webhook.created",
            "endpoint.created",
            "pipeline.created",
            "template.created",
            "link.created",
            "link.revoked",
            "file.deleted",
            "webhook.secret_rotated",
            "webhook.deleted",
            "endpoint.archived",
            "pipeline.archived",
            "template.deleted",
        ]
        for each in events:
            assert each["resource"] == made[each["action"].split(".")[0]]
            assert each["actor"] == {
                "type": "api_key",
                "id": key["key_id"],
                "name": "robot",
                "address": "127.0.0.1",
            }
        # A URL may have secrets in it.
        assert "token=hidden" not in str(events)

    async def test_it_is_read_in_pages_with_filters_and_by_owners_and_keys_only(
        self, place: SessionHarness, owner: httpx.AsyncClient
    ) -> None:
        for _ in range(3):
            await owner.post(f"{API}/keys", json={"name": "paged"})
        first = (await owner.get(f"{API}/audit", params={"limit": 2, "action": "key"})).json()
        assert [each["action"] for each in first["events"]] == ["key.created"] * 2
        query = {"limit": 2, "action": "key", "cursor": first["next_cursor"]}
        second = (await owner.get(f"{API}/audit", params=query)).json()
        ids = [int(each["id"]) for each in first["events"] + second["events"]]
        assert ids == sorted(set(ids), reverse=True)
        assert await actions(owner, action="ke_") == []
        assert await actions(owner, until="2001-01-01T00:00:00Z") == []
        refused = await owner.get(f"{API}/audit", params={"colour": "red"})
        assert refused.status_code == 400
        member = await place.logged_in()
        assert refusal(await member.get(f"{API}/audit")) == (403, "role_too_low")
        key = (await owner.post(f"{API}/keys", json={"name": "reader"})).json()
        headers = {"Authorization": f"Bearer {key['text']}"}
        by_key = await place.browser().get(f"{API}/audit", headers=headers)
        assert by_key.json()["events"][0]["resource"] == key["key_id"]
        stranger = (await place.kiln.other_organization()).client
        events = (await stranger.get(f"{API}/audit")).json()["events"]
        assert [each["action"] for each in events] == ["key.created"]

    async def test_a_change_that_fails_is_not_recorded_and_nothing_is_changed_later(
        self, place: SessionHarness
    ) -> None:
        services, organization = place.services, place.organization
        before = await self.count(place)

        async def fail() -> None:
            async with services.database.transaction() as connection:
                now = place.clock.now()
                await record(connection, organization.id, "key.created", resource="x", now=now)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            await fail()
        assert await self.count(place) == before
        with pytest.raises(DatabaseError):
            async with services.database.transaction() as connection:
                await connection.execute("UPDATE audit_event SET action = 'none'")

    async def test_old_events_are_removed(self, place: SessionHarness) -> None:
        log = AuditLog(place.services.database, clock=place.clock, kept_for=timedelta(days=30))
        await place.user()
        await log.remove_old()
        assert await self.count(place) > 0
        place.clock.advance(timedelta(days=31))
        await log.remove_old()
        assert await self.count(place) == 0

    async def count(self, place: SessionHarness) -> int:
        found = await place.services.audit.page(
            place.organization.id, AuditFilter(), limit=10_000, before=None
        )
        return len(found)
