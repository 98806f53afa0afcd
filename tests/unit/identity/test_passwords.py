"""Passwords, with a hasher made quick for tests; the real one is used in the contract tests."""

import pytest
from argon2 import PasswordHasher

from framekiln.identity.errors import InvalidEmail, InvalidPassword
from framekiln.identity.model import IssuedUser, User
from framekiln.identity.passwords import (
    GENERATED_CHARS,
    MAX_CHARS,
    MIN_CHARS,
    Passwords,
    make_password,
)
from framekiln.identity.users import normalize_email, require_email
from framekiln.kit.ids import UserId, new_uuid
from tests.support.clock import SettableClock

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


async def test_a_password_matches_itself_only() -> None:
    passwords = Passwords(QUICK)
    kept = await passwords.hash("pässword 1234")
    assert kept.startswith("$argon2id$")
    assert "1234" not in kept
    assert kept != await passwords.hash("pässword 1234")
    assert await passwords.matches(kept, "pässword 1234")
    for other in ("pässword 1235", "pässword 123", "", " pässword 1234"):
        assert not await passwords.matches(kept, other)


async def test_a_missing_or_broken_hash_matches_nothing() -> None:
    passwords = Passwords(QUICK)
    assert not await passwords.matches(None, "")
    assert not await passwords.matches("no hash", "no hash")


@pytest.mark.parametrize(
    "text", ["", "a" * (MIN_CHARS - 1), "a" * (MAX_CHARS + 1), "abcdefghi\n", "abcdefghi\x00"]
)
async def test_useless_passwords_are_refused(text: str) -> None:
    with pytest.raises(InvalidPassword):
        await Passwords(QUICK).hash(text)


def test_generated_passwords_differ() -> None:
    made = {make_password() for _ in range(100)}
    assert len(made) == 100
    assert {len(text) for text in made} == {GENERATED_CHARS}


def test_the_repr_of_a_password_hides_it(clock: SettableClock) -> None:
    user = User(UserId(new_uuid()), "a@b", clock.now())
    assert "hunter2" not in repr(IssuedUser(user, "hunter2"))


def test_addresses_are_compared_without_case() -> None:
    assert normalize_email("  Ada@Example.ORG ") == "ada@example.org"
    for text in ("", "ada", "@b", "a@", "a b@c", "a@b@c", "a\x00@b", "a" * 250 + "@host"):
        assert normalize_email(text) is None
        with pytest.raises(InvalidEmail):
            require_email(text)
