"""The text of API keys."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.identity.keys import (
    KeyParts,
    hash_key,
    is_same_hash,
    make_key,
    parse_key,
)

# What existing clients demand before they send anything.
CLIENT_PATTERN = re.compile(r"^ef_[^_]+_.+$")


def test_generated_keys_match_the_client_pattern_and_parse_back() -> None:
    text = make_key()
    parts = parse_key(text)
    assert CLIENT_PATTERN.match(text)
    assert parts is not None
    assert text == f"ef_{parts.secret}_{parts.key_id}"
    assert re.fullmatch(r"[A-Za-z0-9]{43}", parts.secret)
    assert re.fullmatch(r"[A-Za-z0-9]{16}", parts.key_id)


def test_generated_keys_differ() -> None:
    assert len({make_key() for _ in range(1000)}) == 1000


def test_the_secret_ends_at_the_first_underscore() -> None:
    assert parse_key("ef_dev_my_own_key") == KeyParts("dev", "my_own_key")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ef_",
        "ef__id",
        "ef_secret",
        "ef_secret_",
        "EF_secret_id",
        "sk_secret_id",
        " ef_secret_id",
        "ef_secret_id\n",
        "ef_se cret_id",
        "ef_geheim\u00e9_id",
        "ef_" + "a" * 300 + "_id",
    ],
)
def test_malformed_keys_are_not_parsed(text: str) -> None:
    assert parse_key(text) is None


@given(st.text(max_size=60))
def test_every_parsed_key_matches_the_client_pattern(text: str) -> None:
    parts = parse_key(text)
    if parts is not None:
        assert CLIENT_PATTERN.match(text)
        assert "_" not in parts.secret


def test_the_hash_hides_the_key_and_is_unique() -> None:
    text = make_key()
    assert re.fullmatch(r"[0-9a-f]{64}", hash_key(text))
    assert is_same_hash(hash_key(text), hash_key(text))
    assert not is_same_hash(hash_key(text), hash_key(make_key()))
