"""The secrets that sign tokens, and their ids in tokens."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

SECRET_BYTES = 32


@dataclass(frozen=True)
class SigningKey:
    """One secret with its public id, the `kid` of a token."""

    id: str
    secret: bytes = field(repr=False)


class SigningKeys(Protocol):
    """All secrets: one signs, all verify."""

    async def current(self) -> SigningKey:
        """Return the secret that signs."""
        ...

    async def find(self, key_id: str) -> SigningKey | None:
        """Return the secret that a token names."""
        ...


class ConfiguredSigningKeys:
    """The secrets of the settings: the first signs, so put a new one before the old one."""

    def __init__(self, texts: Sequence[str]) -> None:
        assert texts
        keys = [_named(text.encode()) for text in texts]
        self._first = keys[0]
        self._by_id = {key.id: key for key in keys}

    async def current(self) -> SigningKey:
        """Return the first."""
        return self._first

    async def find(self, key_id: str) -> SigningKey | None:
        """Return the secret that a token names."""
        return self._by_id.get(key_id)


def make_signing_key() -> SigningKey:
    """Return a new random secret."""
    return _named(secrets.token_bytes(SECRET_BYTES))


def _named(secret: bytes) -> SigningKey:
    # Derived from the secret, so that every process computes the same id.
    return SigningKey(hashlib.sha256(b"framekiln signing key\0" + secret).hexdigest()[:16], secret)
