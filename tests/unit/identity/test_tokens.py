"""Tokens that were tampered with, are over, or are for something else."""

import base64
import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import jwt
import pytest

from framekiln.identity.errors import TokenExpired, TokenInvalid, TokenScopeMismatch
from framekiln.identity.signatures.keys import ConfiguredSigningKeys, make_signing_key
from framekiln.identity.signatures.scope import RequestTarget
from framekiln.identity.signatures.tokens import (
    MEDIA_AUDIENCE,
    MEDIA_TOKEN_LIFETIME,
    URL_AUDIENCE,
    URL_TOKEN_LIFETIME,
    AccessTokens,
)
from framekiln.kit.errors import Unauthenticated
from framekiln.kit.ids import ApiKeyId, OrganizationId
from tests.support.clock import SettableClock

SECRET, OTHER = "s" * 32, "o" * 40
ORG = OrganizationId(UUID(int=7))
KEY = ApiKeyId(UUID(int=8))
FILE = "/api/v1/files/1"
HERE = RequestTarget(f"{FILE}/index")


@pytest.fixture
def tokens(clock: SettableClock) -> AccessTokens:
    return AccessTokens(ConfiguredSigningKeys([SECRET]), clock)


def payload_of(token: str) -> dict[str, Any]:
    read: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return read


def part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


async def test_a_token_has_the_specified_claims(tokens: AccessTokens, clock: SettableClock) -> None:
    token = await tokens.sign_url(ORG, "http://h/api/v1/transcode", {"url": "http://s/ä"})
    header = jwt.get_unverified_header(token)
    assert (header["alg"], header["typ"]) == ("HS256", "JWT")
    assert header["kid"]
    now_s = int(clock.now().timestamp())
    assert payload_of(token) == {
        "iss": "framekiln",
        "aud": "framekiln:url",
        "iat": now_s,
        "exp": now_s + 3600,
        "org": str(ORG),
        "url": "/api/v1/transcode",
        "params": {"url": ["http://s/ä"]},
    }
    assert SECRET not in repr(await ConfiguredSigningKeys([SECRET]).current())


async def test_a_token_opens_its_signed_url(tokens: AccessTokens) -> None:
    token = await tokens.sign_url(ORG, f"https://kiln.example{FILE}")
    assert await tokens.read_url(token, HERE) == ORG
    for asked in (
        RequestTarget("/api/v1/files/10"),
        RequestTarget(f"{FILE}/../2"),
        RequestTarget("/api/v1/renders/1.mp4"),
    ):
        with pytest.raises(TokenScopeMismatch, match=FILE):
            await tokens.read_url(token, asked)


async def test_a_token_signed_by_a_key_opens_everything_below_its_prefix(
    tokens: AccessTokens,
) -> None:
    for prefix in ("/", "/api/v1", "/api/v1/files", "/api/v1/transcode"):
        wide = await tokens.sign_url(ORG, prefix, signed_by=KEY)
        narrow = await tokens.sign_url(ORG, prefix)
        asked = RequestTarget(
            "/api/v1/transcode/manifest.m3u8" if "transcode" in prefix else HERE.path
        )
        assert await tokens.read_url(wide, asked) == ORG
        with pytest.raises(TokenScopeMismatch, match="signed for"):
            await tokens.read_url(narrow, asked)


async def test_a_token_expires_after_an_hour(tokens: AccessTokens, clock: SettableClock) -> None:
    token = await tokens.sign_url(ORG, FILE)
    clock.advance(URL_TOKEN_LIFETIME - timedelta(seconds=1))
    assert await tokens.read_url(token, HERE) == ORG
    clock.advance(timedelta(seconds=1))
    with pytest.raises(TokenExpired, match="expired"):
        await tokens.read_url(token, HERE)


async def test_forgeries_are_refused(tokens: AccessTokens, clock: SettableClock) -> None:
    genuine = await tokens.sign_url(ORG, FILE)
    header, payload, signature = genuine.split(".")
    kid = jwt.get_unverified_header(genuine)["kid"]
    claims = payload_of(genuine)
    wider = part({**claims, "org": str(uuid4())})
    foreign = make_signing_key()
    # Signed with the public name of the key, as if that were a key.
    confused = f"{part({'alg': 'HS256', 'kid': kid})}.{wider}"
    by_name = hmac.new(kid.encode(), confused.encode(), hashlib.sha256).digest()
    offered = [
        f"{header}.{wider}.{signature}",
        f"{part({'alg': 'none', 'kid': kid})}.{payload}.",
        f"{part({'alg': 'none', 'kid': kid})}.{payload}.{signature}",
        f"{part({'alg': 'RS256', 'kid': kid})}.{payload}.{signature}",
        f"{part({'alg': 'HS512', 'kid': kid})}.{payload}.{signature}",
        jwt.encode(claims, foreign.secret, algorithm="HS256", headers={"kid": kid}),
        jwt.encode(claims, foreign.secret, algorithm="HS256", headers={"kid": foreign.id}),
        jwt.encode(claims, SECRET, algorithm="HS256"),
        f"{confused}.{base64.urlsafe_b64encode(by_name).decode().rstrip('=')}",
        f"{header}.{payload}.{signature[:-4]}",
        f"{header}.{payload}.",
        f"{header}.{payload}",
        f"{part({'alg': 'HS256', 'kid': 7})}.{payload}.{signature}",
        f"{part({'alg': 'HS256', 'kid': kid, 'jwk': {'k': 'eA'}})}.{payload}.{signature}",
        "..",
        "a.b.c",
        "ä.ä.ä",
        "",
        "x" * 100_000,
    ]
    assert await tokens.read_url(genuine, HERE) == ORG
    for token in offered:
        with pytest.raises(TokenInvalid):
            await tokens.read_url(token, HERE)


@pytest.mark.parametrize("missing", ["iss", "aud", "iat", "exp", "org", "url", "params"])
async def test_a_token_without_a_claim_is_refused(tokens: AccessTokens, missing: str) -> None:
    genuine = await tokens.sign_url(ORG, FILE)
    kid = jwt.get_unverified_header(genuine)["kid"]
    claims = {name: value for name, value in payload_of(genuine).items() if name != missing}
    with pytest.raises(TokenInvalid):
        await tokens.read_url(
            jwt.encode(claims, SECRET, algorithm="HS256", headers={"kid": kid}), HERE
        )


async def test_older_secrets_stay_valid_during_rotation(clock: SettableClock) -> None:
    before = AccessTokens(ConfiguredSigningKeys([OTHER]), clock)
    both = AccessTokens(ConfiguredSigningKeys([SECRET, OTHER]), clock)
    after = AccessTokens(ConfiguredSigningKeys([SECRET]), clock)
    old, new = await before.sign_url(ORG, FILE), await both.sign_url(ORG, FILE)
    assert await both.read_url(old, HERE) == await both.read_url(new, HERE) == ORG
    assert await after.read_url(new, HERE) == ORG
    for reader, token in ((after, old), (before, new)):
        with pytest.raises(TokenInvalid):
            await reader.read_url(token, HERE)


async def test_url_and_media_tokens_are_not_interchangeable(
    tokens: AccessTokens, clock: SettableClock
) -> None:
    url_token = await tokens.sign_url(ORG, FILE)
    media_token = await tokens.sign_media(ORG, FILE, clock.now() + timedelta(hours=1))
    assert payload_of(url_token)["aud"] == URL_AUDIENCE
    assert payload_of(media_token)["aud"] == MEDIA_AUDIENCE
    with pytest.raises(TokenInvalid, match="this token is not a"):
        await tokens.read_media(url_token, HERE)
    with pytest.raises(TokenInvalid, match="this token is not a"):
        await tokens.read_url(media_token, HERE)
    with pytest.raises(TokenInvalid):
        await tokens.read_upload(media_token, HERE)


async def test_a_media_token_expires_at_its_time(
    tokens: AccessTokens, clock: SettableClock
) -> None:
    token = await tokens.sign_media(ORG, FILE, clock.now() + MEDIA_TOKEN_LIFETIME)
    asked = RequestTarget(f"{FILE}/tracks/1", [("media_token", token)])
    assert await tokens.read_media(token, asked) == ORG
    with pytest.raises(TokenScopeMismatch):
        await tokens.read_media(token, RequestTarget("/api/v1/files/12/tracks/1"))
    clock.advance(MEDIA_TOKEN_LIFETIME)
    with pytest.raises(TokenExpired):
        await tokens.read_media(token, asked)
    with pytest.raises(ValueError, match="4:00:00"):
        await tokens.sign_media(
            ORG, FILE, clock.now() + MEDIA_TOKEN_LIFETIME + timedelta(seconds=1)
        )


async def test_upload_tokens_require_a_key_and_an_upload_path(tokens: AccessTokens) -> None:
    upload = RequestTarget(f"{FILE}/upload")
    allowed = await tokens.sign_url(ORG, upload.path, signed_by=KEY)
    assert await tokens.read_upload(allowed, upload) == KEY
    with pytest.raises(TokenScopeMismatch, match=FILE):
        await tokens.read_upload(allowed, RequestTarget("/api/v1/files/2/upload"))
    for token in (
        await tokens.sign_url(ORG, upload.path),
        await tokens.sign_url(ORG, FILE, signed_by=KEY),
    ):
        with pytest.raises(TokenScopeMismatch, match="only allows reading"):
            await tokens.read_upload(token, upload)


async def test_every_refusal_is_unauthenticated(tokens: AccessTokens) -> None:
    for kind in (TokenInvalid, TokenExpired, TokenScopeMismatch):
        assert issubclass(kind, Unauthenticated)
        assert kind.code == "unauthorized"
