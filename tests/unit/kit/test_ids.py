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
def test_written_ids_are_read_back(value: UUID) -> None:
    assert parse_uuid(str(value)) == value


def test_ids_in_capital_letters_are_read() -> None:
    value = new_uuid()
    assert parse_uuid(str(value).upper()) == value


@pytest.mark.parametrize(
    "text",
    ["", "1", "not-an-id", "../../etc/passwd", "00000000-0000-0000-0000-00000000000g", "é" * 32],
)
def test_other_texts_are_not_ids(text: str) -> None:
    assert parse_uuid(text) is None


@given(st.text(max_size=40))
def test_parsing_never_raises(text: str) -> None:
    assert parse_uuid(text) is None or isinstance(parse_uuid(text), UUID)
