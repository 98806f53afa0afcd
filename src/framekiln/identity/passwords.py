"""Passwords: generated, validated, hashed and compared. Never stored, never logged.

Hashing is slow and takes 64 MiB on purpose. It runs in a thread, with a limit of concurrent runs:
many logins delay each other, but nothing else.
"""

import asyncio
import secrets
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from framekiln.identity.errors import InvalidPassword
from framekiln.identity.keys import ALPHABET

AT_ONCE: Final = 2
MIN_CHARS: Final = 10
MAX_CHARS: Final = 1024
GENERATED_CHARS: Final = 24
"""Of 62 letters and digits: 142 bits."""


class Passwords:
    """The hasher, with a limit of concurrent runs."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._line = asyncio.Semaphore(AT_ONCE)

    async def hash(self, password: str) -> str:
        """Return the hash of a password; raise `InvalidPassword` for an invalid one."""
        checked = _checked(password)
        async with self._line:
            return await asyncio.to_thread(self._hasher.hash, checked)

    async def matches(self, password_hash: str | None, password: str) -> bool:
        """Whether it is the password; without a hash, return False after the same work."""
        async with self._line:
            return await asyncio.to_thread(self._compare, password_hash, password)

    def _compare(self, password_hash: str | None, password: str) -> bool:
        if password_hash is None:
            self._hasher.hash(password)
            return False
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False


def make_password() -> str:
    """Return a new random password."""
    return "".join(secrets.choice(ALPHABET) for _ in range(GENERATED_CHARS))


def _checked(password: str) -> str:
    if not MIN_CHARS <= len(password) <= MAX_CHARS or not password.isprintable():
        raise InvalidPassword(
            f"a password needs {MIN_CHARS} to {MAX_CHARS} printable characters", field="password"
        )
    return password
