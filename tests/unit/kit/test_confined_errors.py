"""Errors cross from the child to the parent by name; nothing else can be named."""

import pytest

from framekiln.kit.confined.errors import (
    ConfinedFailed,
    ConfinedKilled,
    describe_error,
    rebuild_error,
)
from framekiln.kit.errors import FramekilnError, NotFound
from framekiln.media.errors import UnreadableMedia


def crossed(error: BaseException) -> FramekilnError:
    return rebuild_error(describe_error(error), "a:b")


@pytest.mark.parametrize(
    "error", [NotFound("no such thing"), UnreadableMedia("bad", track=3, names=["a"])]
)
def test_our_errors_are_rebuilt_whole(error: FramekilnError) -> None:
    rebuilt = crossed(error)
    assert type(rebuilt) is type(error)
    assert (rebuilt.message, rebuilt.details) == (error.message, error.details)
    assert str(rebuilt) == str(error)


class ErrorWithArguments(FramekilnError):
    def __init__(self, number: int) -> None:
        super().__init__(f"number {number}", number=number)


def test_an_error_of_a_foreign_module_is_not_rebuilt_even_if_it_descends_from_ours() -> None:
    rebuilt = crossed(ErrorWithArguments(4))
    assert type(rebuilt) is ConfinedFailed
    assert "number 4" in rebuilt.message


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("framekiln.__main__", "main"),
        ("framekiln.kit.errors", "Any"),
        ("framekiln.kit.errors", "Blame"),
        ("framekiln.kit.errors", "FramekilnError.__init__"),
        ("framekiln.kit.errors", "Nothing"),
        ("framekiln.nothing", "NotFound"),
        ("framekiln", "NotFound"),
        ("..framekiln.kit.errors", "NotFound"),
        (None, "NotFound"),
        ("framekiln.kit.errors", 3),
    ],
)
def test_nothing_but_our_errors_can_be_named(module: object, name: object) -> None:
    error = {"module": module, "name": name, "message": "m", "details": {}}
    assert type(rebuild_error(error, "a:b")) is ConfinedFailed


def test_other_errors_keep_their_name_and_message() -> None:
    assert crossed(KeyError("x")).message == "a:b: KeyError: 'x'"


def test_a_limit_error_is_found_as_the_cause_of_another() -> None:
    def fail() -> None:
        try:
            raise MemoryError
        except MemoryError as error:
            raise UnreadableMedia("cannot read") from error

    with pytest.raises(UnreadableMedia) as caught:
        fail()
    assert describe_error(caught.value) == {"limit": "memory_bytes"}
    assert describe_error(OSError(24, "too many")) == {"limit": "open_files"}
    assert "limit" not in describe_error(OSError(2, "no such file"))


def test_a_killed_child_is_retryable() -> None:
    assert (ConfinedKilled.code, ConfinedKilled.retryable) == ("decoder_killed", True)
