"""Urlencoded bodies, which are decoded in pieces."""

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.api.v2 import forms
from framekiln.api.v2.forms import read_pairs


@pytest.fixture(autouse=True, scope="module", params=[3, 4, 7, 64 << 10])
def piece_bytes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pieces that end everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "_PIECE_BYTES", request.param)
        yield


TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.dictionaries(TEXTS, TEXTS))
def test_what_was_encoded_is_read(fields: dict[str, str]) -> None:
    assert read_pairs(urlencode(fields).encode()) == fields


@given(st.text(alphabet="ab%=&+4eé1"))
def test_it_is_read_as_the_standard_library_does(text: str) -> None:
    try:
        expected = dict(parse_qsl(text, keep_blank_values=True, errors="strict"))
    except ValueError:
        with pytest.raises(ValueError, match="utf-8"):
            read_pairs(text.encode())
    else:
        assert read_pairs(text.encode()) == expected


def test_too_many_fields_are_refused() -> None:
    assert len(read_pairs(b"&".join(b"%d=1" % number for number in range(2000)))) == 2000
    with pytest.raises(ValueError, match="too many"):
        read_pairs(b"a=1&" * 2001)
