"""Encrypts the credentials of destinations for the database, with the secret that signs tokens.

AES-256 in GCM with a key that is derived from the secret; each text is bound to the id of its row.

    8 id of the secret   12 nonce   ciphertext and tag
"""

import hmac
import secrets
from typing import TYPE_CHECKING, Final

from framekiln.identity.signatures.keys import SigningKey, SigningKeys
from framekiln.kit.errors import Unavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_PURPOSE: Final = b"framekiln destination credentials"
_KEY_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
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
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return bytes.fromhex(key.id) + nonce + _cipher(key).encrypt(nonce, text, row_id)

    async def decrypt(self, encrypted: bytes, *, row_id: bytes) -> bytes:
        """Return the text, or raise `CredentialsUnreadable`."""
        # Only destinations need it, and every process imports this module.
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        key = await self._keys.find(encrypted[:_KEY_ID_BYTES].hex())
        nonce, body = encrypted[_KEY_ID_BYTES:_HEAD_BYTES], encrypted[_HEAD_BYTES:]
        try:
            if key is not None:
                return _cipher(key).decrypt(nonce, body, row_id)
        except (InvalidTag, ValueError):
            # A nonce that was cut off is a ValueError.
            pass
        raise CredentialsUnreadable(
            "the credentials cannot be decrypted: their secret is no longer in"
            " FRAMEKILN_SECRET_KEYS, or the row was changed"
        )


def _cipher(key: SigningKey) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return AESGCM(hmac.digest(key.secret, _PURPOSE, "sha256"))
