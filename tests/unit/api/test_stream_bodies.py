"""Content-Digest as RFC 9530 writes it."""

import base64
import hashlib

import pytest

from framekiln.api.v1.stream_bodies import sha256_of
from framekiln.files.streams.errors import InvalidDigest

SUM = hashlib.sha256(b"a").digest()
TEXT = base64.b64encode(SUM).decode()


@pytest.mark.parametrize(
    "header",
    [
        f"sha-256=:{TEXT}:",
        f"sha-512=:AAAA:, sha-256=:{TEXT}:",
        f" SHA-256 = :{TEXT}: , md5=:AAAA:",
    ],
)
def test_the_sha_256_is_read_from_the_header(header: str) -> None:
    assert sha256_of(header) == SUM


@pytest.mark.parametrize(
    "header",
    [None, "", TEXT, f"sha-256={TEXT}", f"sha-512=:{TEXT}:", "sha-256=:AA:", "sha-256=:=:"],
)
def test_a_header_without_a_valid_sha_256_is_refused(header: str | None) -> None:
    with pytest.raises(InvalidDigest, match="Content-Digest"):
        sha256_of(header)
