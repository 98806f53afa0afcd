"""Tokens of links: what is in them, and that nobody can change or make one."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from framekiln.identity.signatures.keys import make_signing_key
from framekiln.links.model import LinkId
from framekiln.links.tokens import read_token, write_token

KEY = make_signing_key()
EXPIRES_AT = datetime(2030, 1, 1, tzinfo=UTC)
LINK_ID = LinkId(uuid4())
TOKEN = write_token(LINK_ID, EXPIRES_AT, KEY)


def test_a_token_names_its_link_its_expiry_and_its_key() -> None:
    token = read_token(TOKEN)
    assert token is not None
    assert (token.link_id, token.expires_at, token.key_id) == (LINK_ID, EXPIRES_AT, KEY.id)
    assert token.is_signed_with(KEY)
    assert not token.is_signed_with(make_signing_key())


@pytest.mark.parametrize("place", range(60))
def test_a_token_with_one_other_character_is_not_signed(place: int) -> None:
    other = "A" if TOKEN[place] != "A" else "B"
    token = read_token(TOKEN[:place] + other + TOKEN[place + 1 :])
    assert token is None or not token.is_signed_with(KEY)


def test_a_later_expiry_needs_another_signature() -> None:
    later = write_token(LINK_ID, EXPIRES_AT + timedelta(days=1), KEY)
    token = read_token(later[:28] + TOKEN[28:])
    assert token is not None
    assert token.expires_at > EXPIRES_AT
    assert not token.is_signed_with(KEY)


@pytest.mark.parametrize(
    "text",
    ["", "x", TOKEN[:-1], f"{TOKEN}A", TOKEN[:-1] + "=", "é" * 60],
    # The token is another one in every process.
    ids=["empty", "short", "cut off", "longer", "padded", "not ASCII"],
)
def test_what_is_no_token_is_not_read(text: str) -> None:
    assert read_token(text) is None
