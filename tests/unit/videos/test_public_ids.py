"""Ids of v2: ten letters and digits."""

import pytest

from framekiln.videos.public_ids import is_public_id, new_public_id


def test_new_ids_are_ids_and_differ() -> None:
    made = {new_public_id() for _ in range(1000)}
    assert len(made) == 1000
    assert all(is_public_id(each) for each in made)
    letters = "".join(made)
    assert any(each.islower() for each in letters)
    assert any(each.isupper() for each in letters)
    assert any(each.isdigit() for each in letters)


@pytest.mark.parametrize(
    "text", ["", "abc", "abcdefghi\n", "abcdefghi-", "abcdefghijk", "abcdefghí1"]
)
def test_other_texts_are_no_public_ids(text: str) -> None:
    assert not is_public_id(text)
