"""Clause 4.6 and 2.10: URL tokens and media tokens, on a render's download, over HTTP."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import APIRouter

from framekiln.api.app import create_app
from framekiln.api.auth import MediaReader, Uploader
from framekiln.db.pool import Database
from framekiln.identity.errors import TokenInvalid
from framekiln.identity.model import IssuedKey
from framekiln.identity.signatures.keys import make_signing_key
from framekiln.identity.signatures.scope import RequestTarget
from framekiln.identity.signatures.store import insert_signing_key
from framekiln.identity.signatures.stored_keys import RELOAD_AFTER, StoredSigningKeys
from framekiln.identity.signatures.tokens import URL_TOKEN_LIFETIME, AccessTokens
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.renders.model import RenderResult
from framekiln.storage.keys import TrackedKey
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL, AppHarness, open_app
from tests.support.clock import SettableClock
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.spec("2.10", "4.6", "5")

SIGN = "/api/v1/url-token"
CONTENT = b"not really a film, but every byte of it"


@dataclass(frozen=True)
class TokenHarness:
    """The application under a clock of the test's, with one finished render."""

    kiln: AppHarness
    clock: SettableClock
    tokens: AccessTokens
    organization_id: OrganizationId
    path: str

    async def sign(self, url: str, **body: Any) -> str:
        answer = await self.kiln.client.post(SIGN, json={"url": url, **body})
        assert answer.status_code == 200, answer.text
        assert answer.headers["cache-control"] == "no-store"
        return str(answer.json()["token"])

    async def ask(self, path: str, token: str | None, **asked: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        method = asked.pop("method", "GET")
        return await self.browser().request(method, path, headers=headers, **asked)

    def browser(self) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.kiln.asgi)
        return httpx.AsyncClient(transport=transport, base_url=BASE_URL)


# Stand for routes that other modules have: what is below a collection, and uploads.
extra = APIRouter()


@extra.get("/api/v1/transcode/{rest:path}")
async def transcode(reader: MediaReader, rest: str) -> dict[str, str]:
    return {"organization_id": str(reader.organization_id), "proof": reader.method}


@extra.post("/api/v1/unprocessed_files")
@extra.post("/api/v1/unprocessed_files/{file_id}/upload")
@extra.post("/api/v1/unprocessed_files/{file_id}/delete")
async def upload(caller: Uploader) -> dict[str, str]:
    return {"api_key_id": str(caller.api_key_id)}


@pytest.fixture(scope="module")
async def harness(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TokenHarness]:
    folder, clock = tmp_path_factory.mktemp("tokens"), SettableClock()
    async with open_app(postgres, folder, template=TEMPLATE) as opened:
        tokens = AccessTokens(StoredSigningKeys(opened.services.database, clock), clock)
        services = replace(opened.services, tokens=tokens)
        app = create_app(services)
        own = list(app.router.routes)
        app.include_router(extra)
        # In front of the real ones, which would go on to look for the thing itself.
        app.router.routes[:] = [route for route in app.router.routes if route not in own] + own
        kiln = AppHarness(services, app, key=opened.key)
        path = await finished_render(kiln)
        found = (await kiln.client.get("/api/v1/organization")).json()
        yield TokenHarness(kiln, clock, tokens, OrganizationId(UUID(found["id"])), path)
        await kiln.client.aclose()


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


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 401, answer.text
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"] == "unauthorized"
    return str(answer.json()["message"])


async def test_a_token_opens_the_address_it_was_signed_for(harness: TokenHarness) -> None:
    for url in (harness.path, f"{BASE_URL}{harness.path}", f"https://proxy.example{harness.path}"):
        token = await harness.sign(url)
        answer = await harness.ask(harness.path, token)
        assert (answer.status_code, answer.content) == (200, CONTENT)
        part = await harness.browser().get(
            harness.path, headers={"Authorization": f"bearer {token}", "Range": "bytes=4-9"}
        )
        assert (part.status_code, part.content) == (206, CONTENT[4:10])
        assert (await harness.ask(harness.path, token, method="HEAD")).status_code == 200


async def test_a_token_is_a_jwt_that_expires_after_an_hour(harness: TokenHarness) -> None:
    _, payload, _ = (await harness.sign(harness.path)).split(".")
    claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["exp"] - claims["iat"] == 3600
    assert claims["iat"] == int(harness.clock.now().timestamp())


async def test_a_request_without_a_token_is_a_401(harness: TokenHarness) -> None:
    assert "Authorization" in refusal(await harness.ask(harness.path, None))
    assert refusal(await harness.ask(harness.path, ""))


async def test_an_expired_token_is_a_401(harness: TokenHarness) -> None:
    token = await harness.sign(harness.path)
    harness.clock.advance(URL_TOKEN_LIFETIME - timedelta(seconds=1))
    assert (await harness.ask(harness.path, token)).status_code == 200
    harness.clock.advance(timedelta(seconds=1))
    assert "expired" in refusal(await harness.ask(harness.path, token))


async def test_a_tampered_token_is_a_401(harness: TokenHarness) -> None:
    token = await harness.sign(harness.path)
    header, payload, signature = token.split(".")
    for forged in (
        f"{header}.{payload}.{'A' * len(signature)}",
        f"{header}.{payload[:-2]}.{signature}",
        f"{header}.{payload}.",
        "eyJhbGciOiJub25lIn0.e30.",
        "a.b.c",
    ):
        assert "is not a valid URL token" in refusal(await harness.ask(harness.path, forged))


async def test_a_token_for_another_url_is_a_401(harness: TokenHarness) -> None:
    other = harness.path.replace(".mp4", ".png")
    token = await harness.sign(other)
    assert other in refusal(await harness.ask(harness.path, token))
    for broad in ("/", "/api/v1", "/api/v1/renders"):
        assert refusal(
            await harness.ask(harness.path, await harness.sign(f"https://evil.example{broad}"))
        )


async def test_a_token_that_a_key_signed_opens_everything_below_its_prefix(
    harness: TokenHarness,
) -> None:
    for prefix in ("/", "/api/v1", f"{BASE_URL}/api/v1/renders", "/api/v1/renders/"):
        answer = await harness.ask(harness.path, await harness.sign(prefix))
        assert (answer.status_code, answer.content) == (200, CONTENT)
    manifest = "/api/v1/transcode/manifest.m3u8"
    token = await harness.sign("/api/v1/transcode")
    assert (await harness.ask(manifest, token, params={"url": "https://a.example/"})).is_success
    # Neither siblings nor params that were signed otherwise.
    assert refusal(await harness.ask(harness.path, await harness.sign("/api/v1/render")))
    assert refusal(await harness.ask(harness.path, await harness.sign("/api/v1/renders?a=1")))
    assert refusal(await harness.ask(harness.path, token))


async def test_a_token_signed_by_a_session_opens_one_resource(harness: TokenHarness) -> None:
    for prefix, is_opened in (("/api/v1/renders", False), (harness.path, True)):
        token = await harness.tokens.sign_url(harness.organization_id, prefix)
        assert (await harness.ask(harness.path, token)).is_success is is_opened


async def test_the_token_of_another_organization_is_a_401(harness: TokenHarness) -> None:
    stranger = await harness.kiln.other_organization()
    signed = await stranger.client.post(SIGN, json={"url": harness.path})
    assert "another" in refusal(await harness.ask(harness.path, signed.json()["token"]))
    # With a key it stays a 404, and so does a path that names nothing at all.
    assert (await stranger.client.get(harness.path)).status_code == 404
    await stranger.client.aclose()


async def test_a_file_without_a_transcription_is_a_404_for_players(harness: TokenHarness) -> None:
    file = {"filename": "clip.mp4", "type": "video", "byte_size": 9}
    file_id = (await harness.kiln.client.post("/api/v1/files", json=file)).json()["id"]
    path = f"/api/v1/files/{file_id}/transcription"
    answer = await harness.ask(path, await harness.sign(path))
    assert (answer.status_code, answer.json()["error"]) == (404, "transcription_not_found")
    for path in (
        f"/api/v1/files/{uuid4()}/transcription",
        f"/api/v1/transcriptions/{uuid4()}/fragments/0",
    ):
        refusal(await harness.ask(path, await harness.sign(path)))


async def test_a_token_opens_media_only(harness: TokenHarness) -> None:
    token = await harness.sign("/api/v1/organization")
    assert "API key" in refusal(await harness.ask("/api/v1/organization", token))
    info = harness.path.removesuffix(".mp4")
    assert refusal(await harness.ask(info, await harness.sign(info)))
    assert refusal(await harness.ask(info, await harness.sign(info), method="DELETE"))
    assert refusal(await harness.ask(SIGN, token, method="POST", json={"url": harness.path}))
    assert (await harness.kiln.client.get(info)).status_code == 200


class TestSources:
    SOURCE = "https://cdn.example/film.mp4?a=1&b=x y"
    MANIFEST = "/api/v1/transcode/manifest.m3u8"

    async def test_a_source_is_signed_as_a_parameter_or_in_the_url(
        self, harness: TokenHarness
    ) -> None:
        base = f"{BASE_URL}/api/v1/transcode"
        for token in (
            await harness.sign(base, params={"url": self.SOURCE}),
            await harness.sign(str(httpx.URL(base, params={"url": self.SOURCE}))),
            await harness.sign(f"{base}?url=other", params={"url": self.SOURCE}),
        ):
            for path in (self.MANIFEST, "/api/v1/transcode/high/1.m4s"):
                answer = await harness.ask(path, token, params={"url": self.SOURCE})
                assert answer.json() == {
                    "organization_id": str(harness.organization_id),
                    "proof": "url_token",
                }

    async def test_another_source_is_a_401(self, harness: TokenHarness) -> None:
        token = await harness.sign("/api/v1/transcode", params={"url": self.SOURCE})
        for params in (
            {},
            {"url": "https://cdn.example/other.mp4"},
            {"url": [self.SOURCE, "https://cdn.example/other.mp4"]},
        ):
            assert "`url`" in refusal(await harness.ask(self.MANIFEST, token, params=params))

    async def test_dots_cannot_leave_the_signed_prefix(self, harness: TokenHarness) -> None:
        token = await harness.sign("/api/v1/transcode/high", params={"url": self.SOURCE})
        for path in ("high/%2e%2e/low/1.m4s", "high%2F..%2Flow/1.m4s", "high%5C..%5Clow/1.m4s"):
            url = httpx.URL(f"{BASE_URL}/api/v1/transcode/{path}", params={"url": self.SOURCE})
            assert refusal(await harness.ask(str(url), token))


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b"", "invalid_request", "url"),
        (b'{"url": ""}', "invalid_request", "url"),
        (b'{"url": 7}', "invalid_request", "url"),
        (b'{"url": "/a", "params": {"x": 1}}', "invalid_request", "params.x"),
        (b'{"url": "/a", "params": []}', "invalid_request", "params"),
        (b'{"url": "/api/v1/files/../x"}', "unsignable_url", "url"),
        (b'{"url": "files"}', "unsignable_url", "url"),
        (b"nonsense", "invalid_json", None),
    ],
)
async def test_urls_that_cannot_be_signed_are_a_400(
    harness: TokenHarness, body: bytes, code: str, field: str | None
) -> None:
    answer = await harness.kiln.client.post(SIGN, content=body)
    assert answer.status_code == 400
    assert answer.json()["error"] == code
    assert answer.json().get("field") == field


async def test_signing_needs_a_key(harness: TokenHarness) -> None:
    assert refusal(await harness.ask(SIGN, None, method="POST", json={"url": harness.path}))


class TestMediaTokens:
    async def test_a_media_token_opens_its_path_until_it_expires(
        self, harness: TokenHarness
    ) -> None:
        ends_at = harness.clock.now() + timedelta(minutes=5)
        token = await harness.tokens.sign_media(harness.organization_id, harness.path, ends_at)
        query = {"media_token": token}
        answer = await harness.ask(harness.path, None, params=query)
        assert (answer.status_code, answer.content) == (200, CONTENT)
        other = harness.path.replace(".mp4", "/mp4")
        assert "does not allow" in refusal(await harness.ask(other, None, params=query))
        harness.clock.advance(timedelta(minutes=5))
        assert "expired" in refusal(await harness.ask(harness.path, None, params=query))

    async def test_a_media_token_is_accepted_only_as_media_token(
        self, harness: TokenHarness
    ) -> None:
        ends_at = harness.clock.now() + timedelta(minutes=5)
        media = await harness.tokens.sign_media(harness.organization_id, harness.path, ends_at)
        url = await harness.sign(harness.path)
        assert "is not a URL token" in refusal(await harness.ask(harness.path, media))
        for values in ([url], [""], [media, media]):
            assert refusal(await harness.ask(harness.path, None, params={"media_token": values}))
        # A header that was sent is not overlooked.
        assert refusal(await harness.ask(harness.path, "wrong", params={"media_token": media}))
        info = harness.path.removesuffix(".mp4")
        assert refusal(await harness.ask(info, None, params={"media_token": media}))

    async def test_a_media_token_of_another_organization_is_a_401(
        self, harness: TokenHarness
    ) -> None:
        ends_at = harness.clock.now() + timedelta(minutes=5)
        token = await harness.tokens.sign_media(OrganizationId(uuid4()), harness.path, ends_at)
        assert "another" in refusal(
            await harness.ask(harness.path, None, params={"media_token": token})
        )


class TestUploads:
    COLLECTION = "/api/v1/unprocessed_files"

    @pytest.fixture
    async def issued(self, harness: TokenHarness) -> IssuedKey:
        return await harness.kiln.services.identity.create_key(harness.organization_id, "uploads")

    async def signed(self, harness: TokenHarness, issued: IssuedKey, url: str) -> str:
        headers = {"Authorization": f"Bearer {issued.text}"}
        return str(
            (await harness.browser().post(SIGN, json={"url": url}, headers=headers)).json()["token"]
        )

    async def test_a_browser_uploads_with_a_token(
        self, harness: TokenHarness, issued: IssuedKey
    ) -> None:
        for url in (self.COLLECTION, f"{BASE_URL}{self.COLLECTION}"):
            token = await self.signed(harness, issued, url)
            for path in (self.COLLECTION, f"{self.COLLECTION}/7/upload"):
                answer = await harness.ask(path, token, method="POST")
                assert answer.json() == {"api_key_id": str(issued.key.id)}
            assert refusal(await harness.ask(f"{self.COLLECTION}/7/delete", token, method="POST"))

    async def test_a_token_for_reading_cannot_upload(
        self, harness: TokenHarness, issued: IssuedKey
    ) -> None:
        path = f"{self.COLLECTION}/7/upload"
        for url in (f"{self.COLLECTION}/7", f"https://evil.example{path}"):
            token = await self.signed(harness, issued, url)
            assert "only allows reading" in refusal(await harness.ask(path, token, method="POST"))

    async def test_a_token_is_revoked_with_its_key(
        self, harness: TokenHarness, issued: IssuedKey
    ) -> None:
        token = await self.signed(harness, issued, self.COLLECTION)
        await harness.kiln.services.identity.revoke_key(issued.key.key_id)
        assert "revoked" in refusal(await harness.ask(self.COLLECTION, token, method="POST"))


class TestSecrets:
    async def test_all_processes_share_one_signing_key(
        self, database: Database, clock: SettableClock
    ) -> None:
        starts = [StoredSigningKeys(database, clock) for _ in range(6)]
        found = await asyncio.gather(*(keys.current() for keys in starts))
        assert len({key.secret for key in found}) == 1
        organization_id, asked = OrganizationId(uuid4()), RequestTarget("/api/v1/files/1")
        token = await AccessTokens(starts[0], clock).sign_url(organization_id, asked.path)
        fresh = AccessTokens(StoredSigningKeys(database, clock), clock)
        assert await fresh.read_url(token, asked) == organization_id

    async def test_unknown_key_names_cause_no_queries(
        self, database: Database, clock: SettableClock
    ) -> None:
        keys = StoredSigningKeys(database, clock)
        known = await keys.current()
        assert await keys.find("nobody") is None
        added = make_signing_key()
        async with database.transaction() as connection:
            await insert_signing_key(connection, added, now=clock.now() + timedelta(seconds=1))
        assert await keys.find(added.id) is None
        clock.advance(RELOAD_AFTER)
        assert await keys.find(added.id) == added
        assert await keys.find(known.id) == known
        assert await keys.current() == added

    async def test_without_stored_keys_no_token_is_valid(
        self, database: Database, clock: SettableClock
    ) -> None:
        elsewhere = make_signing_key()
        assert await StoredSigningKeys(database, clock).find(elsewhere.id) is None
        with pytest.raises(TokenInvalid):
            await AccessTokens(StoredSigningKeys(database, clock), clock).read_url(
                "a.b.c", RequestTarget("/")
            )
