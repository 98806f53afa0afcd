"""Encrypts the credentials of destinations for the database, with the secret that signs tokens.

Encrypt-then-MAC with HMAC-SHA256 only: as a keystream (counter mode), and as the tag. The keys are
derived from the secret; each text has a nonce of its own, and is bound to the id of its row.

    8 id of the secret   24 nonce   ciphertext   32 tag
"""

import hmac
import secrets
from typing import Final

from framekiln.identity.signatures.keys import SigningKey, SigningKeys
from framekiln.kit.errors import Unavailable

_KEY_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 24
_TAG_BYTES: Final = 32
_HEAD_BYTES: Final = _KEY_ID_BYTES + _NONCE_BYTES


class CredentialsUnreadable(Unavailable):
    """The secret that encrypted some credentials is no longer configured."""

    code = "credentials_unreadable"
    retryable = False


class CredentialEncryption:
    """Encrypts and decrypts texts for one row each."""

    def __init__(self, keys: SigningKeys) -> None:
        self._keys = keys

    async def encrypt(self, text: bytes, *, row_id: bytes) -> bytes:
        """Return the text, readable only with the secret and for this row."""
        key = await self._keys.current()
        head = bytes.fromhex(key.id) + secrets.token_bytes(_NONCE_BYTES)
        body = _xor(text, key, head)
        return head + body + _tag(key, row_id, head + body)

    async def decrypt(self, encrypted: bytes, *, row_id: bytes) -> bytes:
        """Return the text, or raise `CredentialsUnreadable`."""
        head, body = encrypted[:_HEAD_BYTES], encrypted[_HEAD_BYTES:-_TAG_BYTES]
        key = await self._keys.find(head[:_KEY_ID_BYTES].hex())
        if key is None or not hmac.compare_digest(
            encrypted[-_TAG_BYTES:], _tag(key, row_id, head + body)
        ):
            raise CredentialsUnreadable(
                "the credentials cannot be decrypted: their secret is no longer in"
                " FRAMEKILN_SECRET_KEYS, or the row was changed"
            )
        return _xor(body, key, head)


def _xor(text: bytes, key: SigningKey, head: bytes) -> bytes:
    derived = hmac.digest(key.secret, b"framekiln destination encryption", "sha256")
    blocks = (
        hmac.digest(derived, head + number.to_bytes(8, "big"), "sha256")
        for number in range((len(text) + 31) // 32)
    )
    stream = b"".join(blocks)[: len(text)]
    size = len(text)
    return (int.from_bytes(text, "big") ^ int.from_bytes(stream, "big")).to_bytes(size, "big")


def _tag(key: SigningKey, row_id: bytes, encrypted: bytes) -> bytes:
    derived = hmac.digest(key.secret, b"framekiln destination authentication", "sha256")
    return hmac.digest(derived, len(row_id).to_bytes(8, "big") + row_id + encrypted, "sha256")
