"""Patterns agree with the language's own matcher, and cannot be kept busy."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.composition.templates.patterns import Pattern, UnusablePattern

PATTERNS = [
    "",
    "a",
    "^a",
    "a$",
    "^$",
    "^a*$",
    "^a+?b$",
    "(a|b)+c",
    "^(ab|a)(bc|c)?$",
    "[a-c]{2,3}",
    "[^ab]",
    r"\bab\b",
    r"\B",
    r"^\w+\s\d*$",
    r"\Aab\Z",
    "a.c",
    "^(?:a|)b",
    "((a*)*)*b",
    "(?i)AB",
    "a{2}",
    "x|^b|c$",
    "[^\\W\\d]",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(text=st.text(alphabet="abcAB1 \n_", max_size=8))
def test_matches_what_the_language_matches(pattern: str, text: str) -> None:
    assert Pattern(pattern).search(text) is (re.search(pattern, text) is not None)


def test_delimiters_and_flags_of_other_languages() -> None:
    assert Pattern("/^ab$/i").search("AB")
    assert not Pattern("#^ab$#").search("AB")
    assert Pattern("/a.b/s").search("a\nb")
    assert Pattern("/^b/m").search("a\nb")


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a|a)*$", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"]
)
def test_patterns_that_would_take_years_take_no_time(pattern: str) -> None:
    assert not Pattern(pattern).search("a" * 3000 + "!")


@pytest.mark.parametrize(
    "pattern", ["(", "a{9999}", "(?<=a)b", r"(a)\1", "(?>a)", "/a/zz", "a" * 600]
)
def test_what_cannot_be_used(pattern: str) -> None:
    with pytest.raises(UnusablePattern):
        Pattern(pattern)
