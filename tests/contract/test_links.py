"""Signed links: media without a key, until they expire, are revoked, or lose what they need."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
import structlog
from structlog.testing import LogCapture

from framekiln.api.app import create_app
from framekiln.identity.signatures.stored_keys import StoredSigningKeys
from framekiln.kit.ids import RenderId
from framekiln.kit.logs import hide_secrets
from framekiln.links import service
from framekiln.links.service import Links
from framekiln.renders.model import RenderResult
from framekiln.storage.keys import TrackedKey
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL, AppHarness, new_key, open_app
from tests.support.clock import SettableClock
from tests.support.postgres import PostgresServer
from tests.support.videos import create_video, plain_config

LINKS = "/api/v1/links"
CONTENT = b"not really a film, but every byte of it"
PAGE_OF_ANOTHER_SITE = {"Origin": "https://shop.example"}


@dataclass(frozen=True)
class LinkHarness:
    """The application under a clock of the test's, and a browser without any credentials."""

    kiln: AppHarness
    clock: SettableClock
    browser: httpx.AsyncClient

    async def create(self, url: str, **body: Any) -> dict[str, Any]:
        answer = await self.kiln.client.post(LINKS, json={"url": url, **body})
        assert answer.status_code == 201, answer.text
        assert answer.headers["cache-control"] == "no-store"
        found: dict[str, Any] = answer.json()
        return found

    async def refusal(self, url: str, **body: Any) -> tuple[int, str]:
        answer = await self.kiln.client.post(LINKS, json={"url": url, **body})
        return answer.status_code, answer.json()["error"]

    async def read(self, url: str) -> tuple[int, str]:
        """Return the status, and the content or the code of the error."""
        answer = await self.browser.get(url)
        text = answer.text if answer.is_success else answer.json()["error"]
        return answer.status_code, text


@pytest.fixture(scope="module")
async def harness(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LinkHarness]:
    folder, clock = tmp_path_factory.mktemp("links"), SettableClock()
    async with open_app(postgres, folder, template=TEMPLATE) as opened:
        keys = StoredSigningKeys(opened.services.database, clock)
        links = Links(opened.services.database, keys=keys, clock=clock, base_url=BASE_URL)
        services = replace(opened.services, links=links)
        kiln = AppHarness(services, create_app(services), key=opened.key)
        transport = httpx.ASGITransport(kiln.asgi)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as browser:
            yield LinkHarness(kiln, clock, browser)
        await kiln.client.aclose()


@pytest.fixture
async def path(harness: LinkHarness) -> str:
    return await finished_render(harness.kiln)


async def finished_render(app: AppHarness) -> str:
    """Return the path of an output that can be downloaded."""
    render_id = RenderId(UUID(await app.create(html="<p>x", duration_ms=100)))
    key = f"org/{uuid4()}/renders/{render_id}/output-1.mp4"
    await app.services.blobs.put(TrackedKey(key), CONTENT)
    work = app.services.render_worker
    await work.start(render_id, job_id=1, attempt=1)
    assert await work.complete(
        render_id, RenderResult(2, 2, Fraction(30), 100, key, len(CONTENT), {})
    )
    return f"/api/v1/renders/{render_id}.mp4"


async def test_a_link_works_without_credentials_on_pages_of_any_origin(
    harness: LinkHarness, path: str
) -> None:
    for url in (path, f"{BASE_URL}{path}"):
        made = await harness.create(url)
        assert made["url"].startswith(f"{BASE_URL}/l/")
        assert made["address"] == path
        answer = await harness.browser.get(made["url"], headers=PAGE_OF_ANOTHER_SITE)
        assert (answer.status_code, answer.content) == (200, CONTENT)
        assert answer.headers["content-type"] == "video/mp4"
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


async def test_a_link_answers_ranges_head_and_options(harness: LinkHarness, path: str) -> None:
    url = (await harness.create(path))["url"]
    part = await harness.browser.get(url, headers={"Range": "bytes=4-9"})
    assert (part.status_code, part.content) == (206, CONTENT[4:10])
    head = await harness.browser.head(url)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(CONTENT))
    asked = {**PAGE_OF_ANOTHER_SITE, "Access-Control-Request-Method": "GET"}
    preflight = await harness.browser.options(url, headers=asked)
    assert preflight.status_code == 204
    assert "Range" in preflight.headers["access-control-allow-headers"]


async def test_a_link_only_reads(harness: LinkHarness, path: str) -> None:
    url = (await harness.create(path))["url"]
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = await harness.browser.request(method, url)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


async def test_a_link_shows_the_same_whatever_credentials_and_query_are_sent(
    harness: LinkHarness, path: str
) -> None:
    url = (await harness.create(path))["url"]
    answer = await harness.browser.get(
        f"{url}?utm_source=mail&media_token=x", headers={"Authorization": "Bearer ef_wrong_key"}
    )
    assert (answer.status_code, answer.content) == (200, CONTENT)


async def test_a_link_expires(harness: LinkHarness, path: str) -> None:
    made = await harness.create(path, expires_in_s=10)
    expires_at = datetime.fromisoformat(made["expires_at"])
    assert expires_at - harness.clock.now() >= timedelta(seconds=10)
    assert (await harness.read(made["url"]))[0] == 200
    harness.clock.set(expires_at)
    assert await harness.read(made["url"]) == (410, "link_expired")


async def test_links_are_valid_for_a_day_unless_asked_otherwise(
    harness: LinkHarness, path: str
) -> None:
    made = await harness.create(path)
    lifetime = datetime.fromisoformat(made["expires_at"]) - harness.clock.now()
    assert timedelta(days=1) <= lifetime <= timedelta(days=1, seconds=1)
    year_s = 365 * 86_400
    await harness.create(path, expires_in_s=year_s)
    for wrong in (0, -1, year_s + 1, "soon"):
        assert await harness.refusal(path, expires_in_s=wrong) == (400, "invalid_request")


async def test_a_link_stops_at_once_when_it_is_revoked(harness: LinkHarness, path: str) -> None:
    made, other = await harness.create(path), await harness.create(path)
    stranger = await harness.kiln.other_organization()
    revoke = f"{LINKS}/{made['id']}"
    assert (await stranger.client.delete(revoke)).json()["error"] == "link_not_found"
    assert (await harness.read(made["url"]))[0] == 200
    for _ in range(2):
        assert (await harness.kiln.client.delete(revoke)).json() == {"success": True}
        assert await harness.read(made["url"]) == (410, "link_revoked")
    assert (await harness.read(other["url"]))[0] == 200
    assert (await harness.kiln.client.delete(f"{LINKS}/nothing")).status_code == 404


async def test_a_changed_link_leads_nowhere(harness: LinkHarness, path: str) -> None:
    url = (await harness.create(path))["url"]
    other_path = await finished_render(harness.kiln)
    start, token, name = url.removeprefix(BASE_URL).lstrip("/").split("/")
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    for wrong in (
        f"/{start}/{changed}/{name}",
        f"/{start}/{token}",
        f"/{start}/{token}/",
        f"/{start}/{token}/{other_path.rsplit('/', 1)[-1]}",
        f"/{start}/{token}/{name}/progress",
        f"/{start}/{token}/%2e%2e/renders/{name}",
        f"/{start}/",
    ):
        assert await harness.read(wrong) == (404, "link_not_found"), wrong


async def test_a_link_ends_with_its_key_unless_it_is_for_the_organization(
    harness: LinkHarness,
) -> None:
    services = harness.kiln.services
    owner = AppHarness(services, harness.kiln.asgi, key=await new_key(services))
    path = await finished_render(owner)
    made = [
        (await owner.client.post(LINKS, json={"url": path, "scope": scope})).json()["url"]
        for scope in ("api_key", "organization")
    ]
    assert [await harness.read(url) for url in made] == [(200, CONTENT.decode())] * 2
    await services.identity.revoke_key(owner.key.rsplit("_", 1)[-1])
    answers = [await harness.read(url) for url in made]
    assert answers == [(410, "link_revoked"), (200, CONTENT.decode())]


async def test_a_link_to_something_deleted_finds_nothing(harness: LinkHarness, path: str) -> None:
    url = (await harness.create(path))["url"]
    assert (await harness.kiln.client.delete(path.removesuffix(".mp4"))).status_code == 200
    assert await harness.read(url) == (404, "render_not_found")
    assert await harness.refusal(path) == (404, "render_not_found")


async def test_nobody_makes_links_to_media_of_others(harness: LinkHarness, path: str) -> None:
    stranger = await harness.kiln.other_organization()
    video_id = await create_video(harness.kiln, plain_config())
    for url, code in (
        (path, "render_not_found"),
        (f"/v2/videos/{video_id}/stream", "video_not_found"),
        (f"/api/v1/transcode/manifest.m3u8?url={BASE_URL}{path}", "render_not_found"),
        (f"/api/v1/transcode/manifest.m3u8?url=file-id:{uuid4()}", "file_not_found"),
        (f"/api/v1/files/{uuid4()}/content", "file_not_found"),
    ):
        answer = await stranger.client.post(LINKS, json={"url": url})
        assert (answer.status_code, answer.json()["error"]) == (404, code)


@pytest.mark.parametrize(
    "url",
    [
        "/",
        "/api/v1/renders",
        "/api/v1/organization",
        "/api/v1/nothing",
        "/api/v1/transcode/presets",
        "/api/v1/transcode/manifest.m3u8",
        "/l/token/film.mp4",
        "https://cdn.example/film.mp4",
    ],
)
async def test_only_media_of_this_service_can_be_linked(harness: LinkHarness, url: str) -> None:
    assert await harness.refusal(url) == (400, "not_linkable")


async def test_links_are_listed_newest_first_in_pages(harness: LinkHarness) -> None:
    owner = await harness.kiln.other_organization()
    path = await finished_render(owner)
    made = [(await owner.client.post(LINKS, json={"url": path})).json() for _ in range(3)]
    await owner.client.delete(f"{LINKS}/{made[0]['id']}")
    first = (await owner.client.get(f"{LINKS}?limit=2")).json()
    second = (await owner.client.get(f"{LINKS}?limit=2&cursor={first['next_cursor']}")).json()
    assert first["links"] == made[:0:-1]
    assert [each["id"] for each in second["links"]] == [made[0]["id"]]
    assert second["links"][0]["revoked_at"] is not None
    assert second["next_cursor"] is None


async def test_links_are_limited_and_removed_long_after_they_expired(
    harness: LinkHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = await harness.kiln.other_organization()
    path = await finished_render(owner)
    monkeypatch.setattr(service, "MAX_LINKS", 1)
    assert (await owner.client.post(LINKS, json={"url": path})).status_code == 201
    refused = await owner.client.post(LINKS, json={"url": path})
    assert (refused.status_code, refused.json()["error"]) == (409, "too_many_links")
    harness.clock.advance(timedelta(days=1, seconds=1))
    assert (await owner.client.post(LINKS, json={"url": path})).status_code == 201
    harness.clock.advance(service.KEPT_FOR + timedelta(seconds=1))
    assert await harness.kiln.services.links.remove_expired() >= 1
    assert len((await owner.client.get(LINKS)).json()["links"]) == 1


async def test_no_token_of_a_link_is_logged(harness: LinkHarness, path: str) -> None:
    url = (await harness.create(path))["url"]
    token = url.split("/")[-2]
    capture = LogCapture()
    before = structlog.get_config()["processors"]
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, capture])
    try:
        for each in (url, f"{url}x", f"{url}/more"):
            await harness.browser.get(each)
    finally:
        structlog.configure(processors=before)
    lines = [each for each in capture.entries if each["event"] == "request"]
    assert [line["path"] for line in lines] == [path, "/l/[hidden]", "/l/[hidden]"]
    assert token not in repr(capture.entries)
    hidden = hide_secrets(None, "info", {"event": "fetch.failed", "url": url})
    assert token not in repr(hidden)


async def test_a_link_to_an_image_file_shows_the_image(harness: LinkHarness) -> None:
    body = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    facts = {"filename": "a.svg", "type": "image", "byte_size": len(body)}
    created = await harness.kiln.client.post("/api/v1/files", json=facts)
    file_path = f"/api/v1/files/{created.json()['id']}"
    sent = await harness.kiln.client.post(f"{file_path}/upload", content=body)
    assert sent.is_success, sent.text
    for address in (file_path, f"{file_path}/content"):
        answer = await harness.browser.get((await harness.create(address))["url"])
        assert answer.content == body
        assert answer.headers["content-type"] == "image/svg+xml"
        assert answer.headers["content-security-policy"].startswith("sandbox")
