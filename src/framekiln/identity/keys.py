"""The text of an API key: creates, parses and hashes it. Pure; stores nothing.

    ef_<secret>_<key id>

The secret has no underscore, so the first one after `ef_` ends it. The key id is public: it finds
the row. Only the SHA-256 of the whole text is stored, which is enough for a secret of 256 bits and
costs a microsecond on every request.
"""

import hashlib
import hmac
import re
import secrets
import string
from typing import NamedTuple

ALPHABET = string.ascii_letters + string.digits
SECRET_CHARS = 43
"""43 base62 characters hold 256 bits."""
KEY_ID_CHARS = 16
MAX_KEY_CHARS = 255

# Printable ASCII without spaces: these characters pass through HTTP headers unchanged.
KEY_PATTERN = re.compile(r"ef_([!-^`-~]+)_([!-~]+)")


class KeyParts(NamedTuple):
    """The two parts of a key's text."""

    secret: str
    key_id: str


def make_key(key_id: str | None = None) -> str:
    """Return the text of a new random key, or of a known one with a new secret."""
    return f"ef_{_random_text(SECRET_CHARS)}_{key_id or _random_text(KEY_ID_CHARS)}"


def parse_key(text: str) -> KeyParts | None:
    """Return the parts of `text`, or None if it does not have the format of a key."""
    if len(text) > MAX_KEY_CHARS:
        return None
    match = KEY_PATTERN.fullmatch(text)
    return KeyParts(match[1], match[2]) if match else None


def hash_key(text: str) -> str:
    """Return the hash of a key, which is stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_same_hash(left: str, right: str) -> bool:
    """Compare two hashes in constant time."""
    return hmac.compare_digest(left, right)


def _random_text(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
