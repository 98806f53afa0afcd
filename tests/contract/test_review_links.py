"""Links for reviewers: one task and the media of its file, and nothing else."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from framekiln.identity.model import Organization
from tests.contract.spec.test_4_7_reviews import FOUND, waiting
from tests.support.app import BASE_URL, new_key
from tests.support.pipelines import API, PipelineHarness, step
from tests.support.sessions import OTHER, OWN, PASSWORD

pytestmark = pytest.mark.spec("3.3", "4.7")

ALLOWED_MEDIA = ("content", "index", "tracks/1", "thumbnails.jpg", "waveform.json", "frame-times")


def browser(pipelines: PipelineHarness) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(pipelines.app.asgi)
    return httpx.AsyncClient(transport=transport, base_url=BASE_URL)


async def make_link(pipelines: PipelineHarness, task: Any, **body: Any) -> Any:
    return await pipelines.create(f"pipeline-reviews/{task['id']}/links", body)


def token_of(link: Any) -> str:
    fragment = urlsplit(link["url"]).fragment
    assert fragment.startswith("link=")
    return fragment.removeprefix("link=")


async def opened(pipelines: PipelineHarness, task: Any) -> httpx.AsyncClient:
    """Return a browser that has opened a link to a task."""
    reviewer = browser(pipelines)
    token = token_of(await make_link(pipelines, task))
    answer = await reviewer.post("/login/review", json={"token": token}, headers=OWN)
    assert answer.json()["review_id"] == task["id"], answer.text
    return reviewer


async def logged_in(pipelines: PipelineHarness, organization: Organization) -> httpx.AsyncClient:
    """Return a browser with a new user of an organization."""
    users, email = pipelines.app.services.users, f"{uuid4()}@example.org"
    await users.create(email, organization.id, password=PASSWORD)
    code = await users.issue_login_code(email, lifetime=timedelta(hours=1))
    user = browser(pipelines)
    answer = await user.post("/login/code", json={"code": code}, headers=OWN)
    assert answer.status_code == 200, answer.text
    return user


def address(task: Any, part: str = "") -> str:
    return f"{API}/pipeline-reviews/{task['id']}{part}"


class TestLink:
    async def test_its_address_is_the_page_of_the_task(self, pipelines: PipelineHarness) -> None:
        _, task = await waiting(pipelines)
        link = await make_link(pipelines, task)
        assert urlsplit(link["url"]).path == f"/studio/reviews/{task['id']}"
        assert link in (await pipelines.get("links", limit=100))["links"]

    async def test_a_reviewer_sees_the_task_and_decides_it(
        self, pipelines: PipelineHarness
    ) -> None:
        run, task = await waiting(pipelines, instructions="Are these faces?")
        reviewer = await opened(pipelines, task)
        assert (await reviewer.get("/session/review")).json()["review_id"] == task["id"]
        assert (await reviewer.get(address(task))).json() == task
        inputs = (await reviewer.get(address(task, "/inputs"))).json()
        assert inputs["file"]["id"] == run["file_id"]
        [output] = inputs["outputs"]
        assert output == {"namespace": "look", "annotations": FOUND.to_json()["annotations"]}
        patch = {"annotations": [{"kind": "face", "start_ms": 0, "end_ms": 900}]}
        body = {"metadata_patch": patch}
        decided = await reviewer.post(address(task, "/approve"), json=body, headers=OWN)
        assert decided.status_code == 200, decided.text
        [link] = (await pipelines.get("links", limit=1))["links"]
        assert decided.json()["decision"]["decided_by"] == {"type": "link", "id": link["id"]}
        # A response may be lost, so the same decision may come again.
        again = await reviewer.post(address(task, "/approve"), json=body, headers=OWN)
        assert again.json() == decided.json()
        stored = await pipelines.get(f"pipeline-reviews/{task['id']}")
        assert stored["metadata_patch"]["annotations"] == patch["annotations"]

    async def test_the_kinds_that_later_steps_hide_are_named(
        self, pipelines: PipelineHarness
    ) -> None:
        definition = {
            "steps": {
                "look": step("probe"),
                "check": step("review", "look"),
                "hide": step("redact_render", "check", with_={"kinds": ["plate", "face"]}),
            }
        }
        run = await pipelines.start_run(await pipelines.create_pipeline(definition))
        await pipelines.run_all_jobs()
        [task] = (await pipelines.get("pipeline-reviews", run_id=run["id"]))["reviews"]
        inputs = await pipelines.get(f"pipeline-reviews/{task['id']}/inputs")
        assert inputs["redacted_kinds"] == ["face", "plate"]

    async def test_a_decided_task_gets_no_link(self, pipelines: PipelineHarness) -> None:
        _, task = await waiting(pipelines)
        await pipelines.create(f"pipeline-reviews/{task['id']}/approve")
        refused = await pipelines.post(f"pipeline-reviews/{task['id']}/links")
        assert (refused.status_code, refused.json()["error"]) == (409, "review_not_pending")
        assert "the run has ended" not in refused.json()["remedy"]

    async def test_a_revoked_link_ends_at_once(self, pipelines: PipelineHarness) -> None:
        _, task = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        [link] = (await pipelines.get("links", limit=1))["links"]
        await pipelines.app.client.delete(f"{API}/links/{link['id']}")
        for path in (address(task), "/session/review"):
            answer = await reviewer.get(path)
            assert (answer.status_code, answer.json()["error"]) == (410, "link_revoked")

    async def test_a_link_ends_no_session_unless_the_user_says_so(
        self, pipelines: PipelineHarness
    ) -> None:
        _, task = await waiting(pipelines)
        services = pipelines.app.services
        own = (await services.identity.authenticate(pipelines.app.key)).organization
        other = await services.identity.create_organization(f"other {task['id']}")
        token = token_of(await make_link(pipelines, task))
        for organization in (own, other):
            user = await logged_in(pipelines, organization)
            body: dict[str, Any] = {"token": token}
            refused = await user.post("/login/review", json=body, headers=OWN)
            assert (refused.status_code, refused.json()["error"]) == (409, "session_exists")
            assert refused.json()["is_same_organization"] is (organization is own)
            assert (await user.get("/session")).status_code == 200
        body["replaces_session"] = True
        assert (await user.post("/login/review", json=body, headers=OWN)).status_code == 200
        assert (await user.get("/session")).status_code == 401

    async def test_a_link_ends_with_the_user_who_made_it(self, pipelines: PipelineHarness) -> None:
        _, task = await waiting(pipelines)
        services = pipelines.app.services
        own = (await services.identity.authenticate(pipelines.app.key)).organization
        user = await logged_in(pipelines, own)
        bodies = []
        for scope in ("api_key", "organization"):
            made = await user.post(address(task, "/links"), json={"scope": scope}, headers=OWN)
            bodies.append({"token": token_of(made.json())})
            opened = await browser(pipelines).post("/login/review", json=bodies[-1])
            assert opened.status_code == 200
        await services.users.delete((await user.get("/session")).json()["user"]["email"])
        ended, kept = [await browser(pipelines).post("/login/review", json=body) for body in bodies]
        assert (ended.status_code, ended.json()["error"]) == (404, "link_not_found")
        assert kept.status_code == 200

    async def test_a_changed_token_is_refused(self, pipelines: PipelineHarness) -> None:
        _, task = await waiting(pipelines)
        token = token_of(await make_link(pipelines, task))
        changed = token[:-1] + ("A" if token[-1] != "A" else "B")
        for text in (changed, token[:-1], "", "x"):
            answer = await browser(pipelines).post("/login/review", json={"token": text})
            assert (answer.status_code, answer.json()["error"]) == (404, "link_not_found")


class TestNothingElse:
    async def test_another_task_is_hidden(self, pipelines: PipelineHarness) -> None:
        _, task = await waiting(pipelines)
        _, other = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        for method, part in (("GET", ""), ("GET", "/inputs"), ("POST", "/approve")):
            answer = await reviewer.request(method, address(other, part), json={}, headers=OWN)
            assert (answer.status_code, answer.json()["error"]) == (
                404,
                "pipeline_review_not_found",
            )
        assert (await pipelines.get(f"pipeline-reviews/{other['id']}"))["status"] == "pending"

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "pipeline-reviews"),
            ("GET", "pipeline-runs"),
            ("GET", "pipelines"),
            ("GET", "files"),
            ("GET", "renders"),
            ("POST", "renders"),
            ("GET", "organization"),
            ("GET", "keys"),
            ("POST", "keys"),
            ("GET", "links"),
            ("POST", "links"),
            ("GET", "webhooks"),
            ("GET", "activity"),
        ],
    )
    async def test_no_other_resource_opens(
        self, pipelines: PipelineHarness, method: str, path: str
    ) -> None:
        _, task = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        answer = await reviewer.request(method, f"{API}/{path}", json={}, headers=OWN)
        assert answer.status_code == 401, answer.text

    async def test_a_reviewer_makes_no_links_and_changes_no_file(
        self, pipelines: PipelineHarness
    ) -> None:
        run, task = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        made = await reviewer.post(address(task, "/links"), json={}, headers=OWN)
        deleted = await reviewer.delete(f"{API}/files/{run['file_id']}", headers=OWN)
        signed = await reviewer.post("/ef-sign-url", json={"url": "/api/v1/x"}, headers=OWN)
        assert [each.status_code for each in (made, deleted, signed)] == [401, 401, 401]
        assert (await pipelines.get(f"files/{run['file_id']}"))["id"] == run["file_id"]

    async def test_media_of_other_files_is_refused(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        # The file has no content here: what is allowed is not found, what is not is refused.
        for part in ALLOWED_MEDIA:
            answer = await reviewer.get(f"{API}/files/{run['file_id']}/{part}")
            assert answer.status_code != 401, part
        foreign = await pipelines.add_file()
        for part in ALLOWED_MEDIA:
            answer = await reviewer.get(f"{API}/files/{foreign}/{part}")
            assert answer.status_code == 401, part
        manifest = await reviewer.get(
            f"{API}/transcode/manifest.m3u8?url={BASE_URL}{API}/files/{foreign}"
        )
        assert manifest.status_code == 401

    async def test_media_is_closed_with_the_task(self, pipelines: PipelineHarness) -> None:
        run, task = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        await pipelines.create(f"pipeline-reviews/{task['id']}/approve")
        answer = await reviewer.get(f"{API}/files/{run['file_id']}/content")
        assert answer.status_code == 401
        for path in (address(task), address(task, "/inputs"), "/session/review"):
            answer = await reviewer.get(path)
            assert (answer.status_code, answer.json()["error"]) == (410, "link_expired")
        # A decision of somebody else is not shown either.
        again = await reviewer.post(address(task, "/approve"), json={}, headers=OWN)
        assert again.json()["error"] == "link_expired"

    async def test_another_organization_makes_no_link_to_the_task(
        self, pipelines: PipelineHarness
    ) -> None:
        _, task = await waiting(pipelines)
        identity = pipelines.app.services.identity
        key = await new_key(pipelines.app.services)
        theirs = await identity.authenticate(key)
        await identity.set_pipelines(theirs.organization.id, True)
        headers = {"Authorization": f"Bearer {key}"}
        for method, part in (("POST", "/links"), ("GET", "/inputs")):
            answer = await browser(pipelines).request(
                method, address(task, part), json={}, headers=headers
            )
            assert (answer.status_code, answer.json()["error"]) == (
                404,
                "pipeline_review_not_found",
            )

    async def test_a_link_to_media_is_no_review_link(self, pipelines: PipelineHarness) -> None:
        link = await pipelines.create(
            "links", {"url": f"{API}/files/{await pipelines.add_file()}/content"}
        )
        token = urlsplit(link["url"]).path.split("/")[2]
        answer = await browser(pipelines).post("/login/review", json={"token": token})
        assert (answer.status_code, answer.json()["error"]) == (404, "link_not_found")

    async def test_a_page_of_another_origin_decides_nothing(
        self, pipelines: PipelineHarness
    ) -> None:
        _, task = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        for headers in (OTHER, {}):
            answer = await reviewer.post(address(task, "/approve"), json={}, headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (403, "cross_origin")
        token = token_of(await make_link(pipelines, task))
        answer = await browser(pipelines).post(
            "/login/review", json={"token": token}, headers=OTHER
        )
        assert answer.json()["error"] == "cross_origin"

    async def test_after_a_logout_nothing_is_open(self, pipelines: PipelineHarness) -> None:
        _, task = await waiting(pipelines)
        reviewer = await opened(pipelines, task)
        await reviewer.post("/logout", headers=OWN)
        assert (await reviewer.get(address(task))).status_code == 401
