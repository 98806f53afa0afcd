"""Patterns agree with the language's own matcher, and cannot be kept busy."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.composition.templates.patterns import MAX_SUBJECT_CHARS, Pattern, UnusablePattern

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
    r"a\B",
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
def test_patterns_match_as_in_the_original_language(pattern: str, text: str) -> None:
    # There `$` is also before a last line break; here, as in JSON Schema, it is the end.
    plain = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    assert Pattern(pattern).search(text) is (plain.search(text) is not None)


def test_delimiters_and_flags_of_other_languages() -> None:
    assert Pattern("/^ab$/i").search("AB")
    assert not Pattern("#^ab$#").search("AB")
    assert Pattern("/a.b/s").search("a\nb")
    assert Pattern("/^b/m").search("a\nb")
    assert Pattern("/^é$/iu").search("É")


def test_classes_match_letters_of_all_scripts() -> None:
    assert Pattern(r"^[\p{L} '-]{1,100}$").search("Zoë Ångström-Łęcka")
    assert not Pattern(r"^\p{L}+$").search("Zoë1")
    assert Pattern(r"^\u00e9$").search("é")
    assert not Pattern(r"^\w+$").search("é")


def test_dollar_does_not_match_before_a_trailing_line_break() -> None:
    assert not Pattern("^[a-z]+$").search("ab\n")


def test_a_lone_surrogate_does_not_raise() -> None:
    assert Pattern("^.b$").search("\ud800b")
    assert not Pattern("\udc00").search("b")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "^(a|a)*$",
        "(.*a){20}$",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "((a*)*)*b",
        "(a?){900}a{900}$",
        "(.*.*.*.*){50}=",
    ],
)
def test_catastrophic_patterns_run_in_linear_time(pattern: str) -> None:
    assert not Pattern(pattern).search("a" * MAX_SUBJECT_CHARS + "!")


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a{9999}",
        "((a{90}){90}){90}",
        "(?<=a)b",
        r"(a)\1",
        "(?>a)",
        "a++",
        "/a/zz",
        "(\\pL?){999}",
    ],
)
def test_unusable_patterns_are_rejected(pattern: str) -> None:
    with pytest.raises(UnusablePattern):
        Pattern(pattern)


def test_unsupported_syntax_is_named() -> None:
    with pytest.raises(UnusablePattern, match=r"\(\?<=.*looking around"):
        Pattern("(?<=a)b")
