"""Credentials in the database: readable with the secret and for their own row only."""

import pytest

from framekiln.destinations.encryption import CredentialEncryption, CredentialsUnreadable
from framekiln.identity.signatures.keys import ConfiguredSigningKeys

OLD, NEW = "an old secret of more than 32 bytes", "a new secret, also of more than 32 bytes"
TEXT = b'{"secret_access_key": "do-not-show-this"}' * 3
ROW = b"row"


def encryption(*secrets: str) -> CredentialEncryption:
    return CredentialEncryption(ConfiguredSigningKeys(secrets))


@pytest.mark.parametrize("text", [b"", b"\0", b"x" * 31, b"x" * 32, b"\0" * 33, TEXT])
async def test_what_was_encrypted_can_be_decrypted(text: bytes) -> None:
    encrypted = await encryption(OLD).encrypt(text, row_id=ROW)
    assert await encryption(NEW, OLD).decrypt(encrypted, row_id=ROW) == text


async def test_equal_texts_look_different_each_time() -> None:
    first, second = [await encryption(OLD).encrypt(TEXT, row_id=ROW) for _ in range(2)]
    assert b"secret" not in first
    # The id of the secret is the same; nothing after it.
    assert first[:8] == second[:8]
    assert first[8:32] != second[8:32]
    assert first[32:64] != second[32:64]


async def test_changed_texts_and_other_rows_are_refused() -> None:
    box = encryption(OLD)
    encrypted = await box.encrypt(TEXT, row_id=ROW)
    for place in range(len(encrypted)):
        changed = bytearray(encrypted)
        changed[place] ^= 1
        with pytest.raises(CredentialsUnreadable):
            await box.decrypt(bytes(changed), row_id=ROW)
    for wrong in (b"", encrypted[:20], encrypted[:-1]):
        with pytest.raises(CredentialsUnreadable):
            await box.decrypt(wrong, row_id=ROW)
    with pytest.raises(CredentialsUnreadable):
        await box.decrypt(encrypted, row_id=b"another")
    with pytest.raises(CredentialsUnreadable):
        await encryption(NEW).decrypt(encrypted, row_id=ROW)
