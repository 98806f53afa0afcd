"""URL tokens and media tokens: JWTs for some media and a limited time, without an API key.

Both are HMAC-signed and name their organization. Their audiences differ, so that one is not
accepted as the other. They are not stored and cannot be revoked, but expire soon.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import jwt

from framekiln.identity.errors import TokenExpired, TokenInvalid, TokenScopeMismatch
from framekiln.identity.signatures.keys import SigningKeys
from framekiln.identity.signatures.scope import RequestTarget, Scope, read_scope
from framekiln.kit.clock import Clock
from framekiln.kit.ids import ApiKeyId, OrganizationId

URL_TOKEN_LIFETIME: Final = timedelta(hours=1)
MEDIA_TOKEN_LIFETIME: Final = timedelta(hours=4)
"""The longest lifetime of a media token."""

ISSUER: Final = "framekiln"
URL_AUDIENCE: Final = "framekiln:url"
MEDIA_AUDIENCE: Final = "framekiln:media"
ALGORITHM: Final = "HS256"
MAX_TOKEN_CHARS: Final = 48 * 1024

# We check times ourselves, with our clock.
CHECKS: Final[Any] = {
    "require": ["iss", "aud", "iat", "exp", "org", "url"],
    "verify_exp": False,
    "verify_iat": False,
    "verify_nbf": False,
}


@dataclass(frozen=True)
class _Claims:
    """The claims of a valid token."""

    organization_id: OrganizationId
    scope: Scope
    api_key_id: ApiKeyId | None


class AccessTokens:
    """Signs and verifies both kinds of tokens."""

    def __init__(self, keys: SigningKeys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock

    async def sign_url(
        self,
        organization_id: OrganizationId,
        url: str,
        params: Mapping[str, str] | None = None,
        *,
        signed_by: ApiKeyId | None = None,
    ) -> str:
        """Return a URL token for a URL; raise `UnsignableUrl` if it is ambiguous.

        `signed_by` is the API key that signs a URL of this service. In that case the token covers
        everything below the URL, and uploads on behalf of the key if the URL is one for uploads.
        Without it, the token covers everything below one resource, for reading only.
        """
        scope = read_scope(url, params)
        claims = {"url": scope.path, "params": scope.params, "org": str(organization_id)}
        if signed_by is not None:
            claims["key"] = str(signed_by)
        return await self._sign(
            claims, URL_AUDIENCE, expires_at=self._clock.now() + URL_TOKEN_LIFETIME
        )

    async def sign_media(
        self, organization_id: OrganizationId, path_prefix: str, expires_at: datetime
    ) -> str:
        """Return a media token for a resource's path, such as /api/v1/files/<id>, and all below."""
        scope = read_scope(path_prefix)
        if expires_at > self._clock.now() + MEDIA_TOKEN_LIFETIME:
            raise ValueError(f"a media token is valid for at most {MEDIA_TOKEN_LIFETIME}")
        claims = {"url": scope.path, "params": scope.params, "org": str(organization_id)}
        return await self._sign(claims, MEDIA_AUDIENCE, expires_at=expires_at)

    async def read_url(self, token: str, asked: RequestTarget) -> OrganizationId:
        """Return the organization of a URL token for this request, or raise `Unauthenticated`."""
        return await self._read(token, asked, audience=URL_AUDIENCE, name="URL token")

    async def read_media(self, token: str, asked: RequestTarget) -> OrganizationId:
        """Return the organization of a media token for this request, or raise `Unauthenticated`."""
        return await self._read(token, asked, audience=MEDIA_AUDIENCE, name="media token")

    async def read_upload(self, token: str, asked: RequestTarget) -> ApiKeyId:
        """Return the key on whose behalf a URL token uploads here, or raise `Unauthenticated`."""
        claims = await self._claims(token, audience=URL_AUDIENCE, name="URL token")
        if claims.api_key_id is None or not claims.scope.is_for_uploads:
            raise TokenScopeMismatch(
                "this URL token only allows reading: for an upload, sign its path with an API key"
            )
        mismatch = claims.scope.upload_mismatch(asked)
        if mismatch is not None:
            raise TokenScopeMismatch(f"this URL token does not allow this upload: {mismatch}")
        return claims.api_key_id

    async def _read(
        self, token: str, asked: RequestTarget, *, audience: str, name: str
    ) -> OrganizationId:
        claims = await self._claims(token, audience=audience, name=name)
        mismatch = claims.scope.mismatch(asked)
        if mismatch is not None:
            raise TokenScopeMismatch(f"this {name} does not allow this address: {mismatch}")
        return claims.organization_id

    async def _sign(self, claims: dict[str, Any], audience: str, *, expires_at: datetime) -> str:
        key = await self._keys.current()
        standard = {
            "iss": ISSUER,
            "aud": audience,
            "iat": int(self._clock.now().timestamp()),
            "exp": int(expires_at.timestamp()),
        }
        return jwt.encode(
            {**standard, **claims}, key.secret, algorithm=ALGORITHM, headers={"kid": key.id}
        )

    async def _claims(self, token: str, *, audience: str, name: str) -> _Claims:
        payload = await self._verified(token, audience=audience, name=name)
        try:
            api_key_id = ApiKeyId(UUID(payload["key"])) if "key" in payload else None
            segments = read_scope(payload["url"]).segments
            claims = _Claims(
                organization_id=OrganizationId(UUID(payload["org"])),
                scope=Scope(segments, payload["params"], is_wide=api_key_id is not None),
                api_key_id=api_key_id,
            )
            is_over = self._clock.now().timestamp() >= payload["exp"]
        except (KeyError, TypeError, ValueError) as error:
            raise TokenInvalid(f"this {name} was not made by this version: sign another") from error
        if is_over:
            raise TokenExpired(f"this {name} has expired: sign another")
        return claims

    async def _verified(self, token: str, *, audience: str, name: str) -> dict[str, Any]:
        refused = TokenInvalid(f"this is not a valid {name} of this service: sign another")
        if len(token) > MAX_TOKEN_CHARS:
            raise refused
        try:
            key = await self._keys.find(str(jwt.get_unverified_header(token).get("kid", "")))
            if key is None:
                raise refused
            payload: dict[str, Any] = jwt.decode(
                token,
                key.secret,
                algorithms=[ALGORITHM],
                audience=audience,
                issuer=ISSUER,
                options=CHECKS,
            )
        except jwt.InvalidAudienceError as error:
            raise TokenInvalid(f"this token is not a {name}") from error
        except (jwt.InvalidTokenError, ValueError) as error:
            raise refused from error
        return payload
