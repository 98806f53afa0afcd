"""Device tokens: what a browser keeps to show that a user has logged in with it before.

A token opens nothing. It only gives the browser login attempts of its own, which strangers cannot
use up. It is signed, not stored, and names one user.
"""

import secrets
from datetime import timedelta
from typing import Final

import jwt

from framekiln.identity.signatures.keys import SigningKeys
from framekiln.kit.clock import Clock
from framekiln.kit.ids import UserId

LIFETIME: Final = timedelta(days=400)
AUDIENCE: Final = "framekiln:device"
ALGORITHM: Final = "HS256"
MAX_CHARS: Final = 1024


class DeviceTokens:
    """Signs and verifies device tokens."""

    def __init__(self, keys: SigningKeys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock

    async def sign(self, user_id: UserId) -> str:
        """Return a token for a browser in which this user has just logged in."""
        key = await self._keys.current()
        claims = {
            "aud": AUDIENCE,
            "sub": str(user_id),
            "jti": secrets.token_hex(16),
            "exp": int((self._clock.now() + LIFETIME).timestamp()),
        }
        return jwt.encode(claims, key.secret, algorithm=ALGORITHM, headers={"kid": key.id})

    async def read(self, text: str | None, user_id: UserId) -> str | None:
        """Return the id of the browser; None unless the token is valid and names this user."""
        if not text or len(text) > MAX_CHARS:
            return None
        try:
            key = await self._keys.find(str(jwt.get_unverified_header(text).get("kid", "")))
            if key is None:
                return None
            claims = jwt.decode(
                text,
                key.secret,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                # We check times ourselves, with our clock.
                options={"require": ["sub", "jti", "exp"], "verify_exp": False},
            )
            is_valid = claims["exp"] > self._clock.now().timestamp()
        except (jwt.InvalidTokenError, ValueError, TypeError):
            return None
        return claims["jti"] if is_valid and claims["sub"] == str(user_id) else None
