"""Every route of the OpenAPI document, called by those who must not get through.

Callers of another organization, with a session and with a key, use the ids of our resources; a
reviewer of our own calls everything.
"""

import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest
from fastapi.routing import APIRoute

from framekiln.api.roles import OWNER_ROUTES, REVIEWER_ROUTES
from framekiln.identity.model import Role
from tests.contract.spec.test_4_7_pipelines import ENDPOINT
from tests.contract.spec.test_4_7_reviews import waiting
from tests.support.app import BASE_URL
from tests.support.people import browser_of
from tests.support.pipelines import API, PipelineHarness

TRANSCODE: Final = re.compile(r"/transcode/(?!presets)")
MD5: Final = "0123456789abcdef0123456789abcdef"
HOOK: Final = {"url": "https://93.184.215.14/hook"}
LAYERS: Final = {
    "dimensions": {"width": 64, "height": 64},
    "duration": 1,
    "layers": [{"id": "t", "type": "text", "text": {"text": "Hello"}}],
}
REFUSED: Final = (401, 403, 404)
# Nobody needs to be known for these: logins, health, and what a token in the request opens.
OPEN: Final = {
    ("POST", "/login"),
    ("POST", "/login/code"),
    ("POST", "/login/invitation"),
    ("POST", "/login/invitation/accept"),
    ("POST", "/login/review"),
    ("GET", "/session/review"),
    ("POST", "/logout"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("POST", "/api/v1/telemetry"),
    ("POST", "/api/v1/pipeline-callbacks/{callback_id}"),
}
# What these need before they look for the resource.
BODIES: Final[dict[str, Any]] = {
    "/api/v1/members/{user_id}": {"role": "member"},
    "/api/v1/pipelines/{pipeline_id}/versions": {"definition": {"steps": {"a": {"type": "probe"}}}},
    "/api/v1/files/{file_id}/tracks": {
        "track_id": 3,
        "type": "video",
        "byte_size": 10,
        "duration_ms": 10,
        "codec_name": "h264",
        "probe_info": {},
    },
    "/api/v1/transcriptions/{transcription_id}/corrections/{start_ms}": {
        "end_ms": 100,
        "text": "stolen",
    },
    "/api/v1/files/{file_id}/stream/seal": {"tracks": {"1": {"fragments": 1}}},
    "/v2/templates/{template_id}": {
        "name": "stolen",
        "config": LAYERS,
        "inputs": {"name": "string"},
        "default_values": {"name": "you"},
    },
}

QUERIES: Final = {"/api/v1/files/{file_id}/stream/media.mp4": {"from_ms": "0", "to_ms": "100"}}


@dataclass(frozen=True)
class Place:
    """Our organization with one of everything, and those who want to get at it."""

    pipelines: PipelineHarness
    ids: dict[str, str]
    open_file: str
    reviewer: httpx.AsyncClient
    strangers: tuple[httpx.AsyncClient, ...]

    def calls(self) -> Iterator[tuple[str, str]]:
        """Yield the methods and paths of all documented routes."""
        for route in self.pipelines.app.asgi.routes:
            if isinstance(route, APIRoute) and route.include_in_schema:
                for method in sorted(route.methods or ()):
                    yield method, route.path

    def address(self, path: str) -> str:
        """Return the path with the ids of our resources, or with the address of one."""
        found = re.sub(r"{(\w+)}", lambda name: self.ids[name[1]], path)
        source = f"{BASE_URL}{API}/files/{self.ids['file_id']}"
        return f"{found}?url={source}" if TRANSCODE.search(path) else found


async def send(client: httpx.AsyncClient, method: str, address: str, path: str) -> httpx.Response:
    body = None if method == "GET" else BODIES.get(path, {})
    content = b"" if body is None else json.dumps(body).encode()
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    return await client.request(
        method,
        address,
        content=content,
        params=QUERIES.get(path),
        headers={"Content-Digest": f"sha-256=:{digest}:"},
    )


async def one_of_everything(pipelines: PipelineHarness) -> dict[str, str]:
    """Make resources of our organization; return the ids in their addresses."""
    client, services = pipelines.app.client, pipelines.app.services

    async def made(path: str, body: Any) -> Any:
        answer = await client.post(path, json=body)
        assert answer.status_code in (200, 201, 202), answer.text
        found = answer.json()
        return found.get("data") or found.get("batch") or found

    organization_id = (await services.identity.authenticate(pipelines.app.key)).organization.id
    run, task = await waiting(pipelines)
    user = await services.users.create(f"{uuid4()}@example.org", organization_id)
    invited = await services.invitations.create(
        organization_id, f"{uuid4()}@example.org", Role.MEMBER
    )
    file_id = await pipelines.add_file()
    await pipelines.run_sql("UPDATE file SET md5 = %s WHERE id = %s", MD5, file_id)
    render = await made(f"{API}/renders", {"html": "<p>", "md5": MD5})
    template = await made(
        "/v2/templates",
        {
            "name": "t",
            "config": LAYERS,
            "inputs": {"name": "string"},
            "default_values": {"name": "you"},
        },
    )
    bulk = await made(f"/v2/templates/{template['id']}/bulk", [{"name": "Ada"}])
    batch = await made(
        f"{API}/pipeline-batches",
        {"pipeline_id": run["pipeline_id"], "runs": [{"file_id": file_id}]},
    )
    webhook = await made(f"{API}/webhooks", {**HOOK, "events": ["render.*"]})
    deliveries = await pipelines.get(f"webhooks/{webhook['id']}/deliveries")
    return {
        "key_id": pipelines.app.key.rsplit("_", 1)[1],
        "user_id": str(user.user.id),
        "invitation_id": str(invited.invitation.id),
        "render_id": render["id"],
        "file_id": file_id,
        "md5": MD5,
        "link_id": (await made(f"{API}/links", {"url": f"{API}/files/{file_id}/content"}))["id"],
        "transcription_id": (await made(f"{API}/files/{file_id}/transcribe", {}))["id"],
        "pipeline_id": run["pipeline_id"],
        "run_id": run["id"],
        "review_id": task["id"],
        "endpoint_id": (await pipelines.create("pipeline-endpoints", ENDPOINT))["id"],
        "batch_id": batch["id"],
        "template_id": template["id"],
        "bulk_id": bulk["id"],
        "video_id": (await made("/v2/videos/new", {"config": LAYERS}))["id"],
        "webhook_id": webhook["id"],
        "delivery_id": deliveries["deliveries"][0]["id"],
        "callback_id": str(uuid4()),
        "track_id": "1",
        "number": "1",
        "at_ms": "0",
        "start_ms": "0",
        "namespace": "look",
        "rendition": "high",
        "extension": "mp4",
        "track": "picture",
        "open_file": run["file_id"],
    }


@pytest.fixture(scope="module")
async def place(pipelines: PipelineHarness) -> AsyncIterator[Place]:
    services = pipelines.app.services
    ids = await one_of_everything(pipelines)
    ours = await services.identity.authenticate(pipelines.app.key)
    theirs = await services.identity.create_organization(f"theirs {uuid4()}")
    await services.identity.set_pipelines(theirs.id, True)
    key = (await services.identity.create_key(theirs.id, "theirs")).text
    program = httpx.AsyncClient(
        transport=httpx.ASGITransport(pipelines.app.asgi),
        base_url=BASE_URL,
        headers={"Authorization": f"Bearer {key}"},
    )
    owner = await browser_of(pipelines.app, theirs.id, Role.OWNER)
    reviewer = await browser_of(pipelines.app, ours.organization.id, Role.REVIEWER)
    yield Place(pipelines, ids, ids.pop("open_file"), reviewer, (program, owner))
    for client in (program, owner, reviewer):
        await client.aclose()


async def test_ids_of_another_organization_open_nothing(place: Place) -> None:
    wrong = []
    for method, path in place.calls():
        if place.address(path) == path or (method, path) in OPEN:
            continue
        for stranger in place.strangers:
            answer = await send(stranger, method, place.address(path), path)
            if answer.status_code not in REFUSED:
                wrong.append((method, path, answer.status_code, answer.text[:200]))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("key", [None, "ef_wrong_key"], ids=["no key", "a wrong key"])
async def test_without_a_valid_key_every_route_refuses(place: Place, key: str | None) -> None:
    wrong = []
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(place.pipelines.app.asgi),
        base_url=BASE_URL,
        headers={} if key is None else {"Authorization": f"Bearer {key}"},
    ) as nobody:
        for method, path in place.calls():
            if (method, path) in OPEN:
                continue
            answer = await send(nobody, method, place.address(path), path)
            if answer.status_code != 401:
                wrong.append((method, path, answer.status_code, answer.text[:200]))
    assert not wrong, "\n".join(map(str, wrong))


async def test_a_reviewer_gets_nothing_but_review_tasks(place: Place) -> None:
    wrong = []
    for method, path in place.calls():
        if (method, path) in OPEN or (method, path) in REVIEWER_ROUTES:
            continue
        answer = await send(place.reviewer, method, place.address(path), path)
        if (answer.status_code, "this needs the role" in answer.text) != (403, True):
            wrong.append((method, path, answer.status_code, answer.text[:200]))
    assert not wrong, "\n".join(map(str, wrong))


async def test_a_reviewer_sees_the_task_and_its_media(place: Place) -> None:
    listed = (await place.reviewer.get(f"{API}/pipeline-reviews")).json()["reviews"]
    assert place.ids["review_id"] in [each["id"] for each in listed]
    inputs = await place.reviewer.get(f"{API}/pipeline-reviews/{place.ids['review_id']}/inputs")
    assert inputs.json()["file"]["id"] == place.open_file
    media = await place.reviewer.get(f"{API}/files/{place.open_file}/frame-times")
    # Allowed, although the file has no content here.
    assert media.status_code not in (401, 403), media.text


def test_the_tables_name_routes_that_exist(place: Place) -> None:
    assert {*OWNER_ROUTES, *REVIEWER_ROUTES, *OPEN} <= set(place.calls())
