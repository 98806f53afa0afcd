"""The tokens in links: the id of the link, when it expires, and a signature. Pure.

45 bytes, so that their base64 has no unused bits and no second spelling:

    16 id   5 expiry (seconds since 1970)   8 id of the signing key   16 HMAC-SHA256, shortened
"""

import base64
import binascii
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from framekiln.identity.signatures.keys import SigningKey
from framekiln.links.model import LinkId

_PURPOSE: Final = b"framekiln link\0"
_FORM: Final = re.compile(r"[A-Za-z0-9_-]{60}")
_SIGNED_BYTES: Final = 29
_SIGNATURE_BYTES: Final = 16


@dataclass(frozen=True)
class LinkToken:
    """A token as it was read; nothing in it is verified yet."""

    link_id: LinkId
    expires_at: datetime
    key_id: str
    signed: bytes
    signature: bytes

    def is_signed_with(self, key: SigningKey) -> bool:
        """Return whether this key has signed it; takes the same time for every signature."""
        return hmac.compare_digest(self.signature, _sign(key, self.signed))


def write_token(link_id: LinkId, expires_at: datetime, key: SigningKey) -> str:
    """Return the token of a link; `expires_at` is in whole seconds."""
    expiry = int(expires_at.timestamp()).to_bytes(5, "big")
    signed = link_id.bytes + expiry + bytes.fromhex(key.id)
    return base64.urlsafe_b64encode(signed + _sign(key, signed)).decode()


def read_token(text: str) -> LinkToken | None:
    """Return what is in a token, or None if it is not one."""
    if not _FORM.fullmatch(text):
        return None
    try:
        raw = base64.urlsafe_b64decode(text)
        expires_at = datetime.fromtimestamp(int.from_bytes(raw[16:21], "big"), UTC)
    except (binascii.Error, OverflowError, ValueError, OSError):
        return None
    return LinkToken(
        link_id=LinkId(UUID(bytes=raw[:16])),
        expires_at=expires_at,
        key_id=raw[21:_SIGNED_BYTES].hex(),
        signed=raw[:_SIGNED_BYTES],
        signature=raw[_SIGNED_BYTES:],
    )


def _sign(key: SigningKey, signed: bytes) -> bytes:
    return hmac.digest(key.secret, _PURPOSE + signed, "sha256")[:_SIGNATURE_BYTES]
