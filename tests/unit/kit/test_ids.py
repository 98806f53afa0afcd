from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.kit.ids import new_uuid, parse_uuid


def test_new_identifiers_are_random_and_differ() -> None:
    made = [new_uuid() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {value.version for value in made} == {4}


@given(st.uuids())
def test_reads_what_was_written(value: UUID) -> None:
    assert parse_uuid(str(value)) == value


def test_reads_capital_letters() -> None:
    value = new_uuid()
    assert parse_uuid(str(value).upper()) == value


@pytest.mark.parametrize(
    "text",
    ["", "1", "not-an-id", "../../etc/passwd", "00000000-0000-0000-0000-00000000000g", "é" * 32],
)
def test_anything_else_is_no_identifier(text: str) -> None:
    assert parse_uuid(text) is None


@given(st.text(max_size=40))
def test_never_raises(text: str) -> None:
    assert parse_uuid(text) is None or isinstance(parse_uuid(text), UUID)
