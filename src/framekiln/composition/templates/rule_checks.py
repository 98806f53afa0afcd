"""The checks of the rules. Only presence rules are called with absent values."""

import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from framekiln.composition.layers.colours import read_colour
from framekiln.composition.layers.field_types import address_problem
from framekiln.composition.layers.source_type import source_problem
from framekiln.composition.templates.patterns import MAX_SUBJECT_CHARS, compiled_pattern
from framekiln.composition.templates.rule_subject import RuleSubject, number_of, subjects

MEDIA_TYPES: Final = {"video", "audio", "image"}
Words = Sequence[str]

_EMAIL: Final = re.compile(r"[^\s@]{1,64}@[^\s@.]{1,63}(?:\.[^\s@.]{1,63}){1,10}")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", re.IGNORECASE)
_ZONE: Final = re.compile(r"UTC|GMT|[A-Z][A-Za-z]{1,20}(?:/[A-Z][A-Za-z0-9_+-]{1,30}){1,2}")
_HEX_COLOUR: Final = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)
_DATE_PARTS: Final = {
    "Y": r"\d{4}",
    "y": r"\d{2}",
    "m": r"(?:0[1-9]|1[0-2])",
    "n": r"(?:[1-9]|1[0-2])",
    "d": r"(?:0[1-9]|[12]\d|3[01])",
    "j": r"(?:[1-9]|[12]\d|3[01])",
    "H": r"(?:[01]\d|2[0-3])",
    "i": r"[0-5]\d",
    "s": r"[0-5]\d",
}


def always_passes(_subject: RuleSubject, _words: Words) -> bool:
    """Nothing to check: the rule changes how others run."""
    return True


def is_filled(subject: RuleSubject, _words: Words) -> bool:
    """required."""
    return subject.is_filled


def is_present(subject: RuleSubject, _words: Words) -> bool:
    """present."""
    return subject.is_present


def filled_if_present(subject: RuleSubject, _words: Words) -> bool:
    """filled."""
    return subject.is_filled or not subject.is_present


def required_if(subject: RuleSubject, words: Words) -> bool:
    """Filled if another input has one of the values."""
    other = subject.other(words[0])
    return subject.is_filled or not (other.is_present and _is_one_of(other, words[1:]))


def required_unless(subject: RuleSubject, words: Words) -> bool:
    """Filled unless another input has one of the values."""
    other = subject.other(words[0])
    return subject.is_filled or (other.is_present and _is_one_of(other, words[1:]))


def required_with(subject: RuleSubject, words: Words) -> bool:
    """Filled if any of the others is."""
    return subject.is_filled or not any(subject.other(word).is_filled for word in words)


def required_without(subject: RuleSubject, words: Words) -> bool:
    """Filled if any of the others is not."""
    return subject.is_filled or all(subject.other(word).is_filled for word in words)


def is_string(subject: RuleSubject, _words: Words) -> bool:
    """string."""
    return isinstance(subject.value, str)


def is_numeric(subject: RuleSubject, _words: Words) -> bool:
    """A number, or a text that is one."""
    return subject.number is not None


def is_integer(subject: RuleSubject, _words: Words) -> bool:
    """A whole number, or a text that is one."""
    return subject.number is not None and subject.number.denominator == 1


def is_boolean(subject: RuleSubject, _words: Words) -> bool:
    """True, false, and their encodings in forms."""
    value = subject.value
    return isinstance(value, bool) or value in (0, 1, "0", "1", "true", "false")


def is_array(subject: RuleSubject, _words: Words) -> bool:
    """A list or an object."""
    return isinstance(subject.value, list | Mapping)


def is_json(subject: RuleSubject, _words: Words) -> bool:
    """A text that is JSON."""
    if not isinstance(subject.value, str):
        return False
    try:
        json.loads(subject.value)
    except (ValueError, RecursionError):
        return False
    return True


def is_date(subject: RuleSubject, _words: Words) -> bool:
    """An ISO 8601 date, with or without a time."""
    try:
        datetime.fromisoformat(subject.value if isinstance(subject.value, str) else "")
    except ValueError:
        return False
    return True


def has_date_format(subject: RuleSubject, words: Words) -> bool:
    """A date in a format such as Y-m-d H:i:s."""
    letters = words[0]
    pattern = "".join(
        f"({_DATE_PARTS[each]})" if each in _DATE_PARTS else re.escape(each) for each in letters
    )
    found = re.fullmatch(pattern, subject.value) if isinstance(subject.value, str) else None
    if found is None:
        return False
    parts = dict(
        zip((each for each in letters if each in _DATE_PARTS), found.groups(), strict=True)
    )
    return _is_day(parts)


def _is_day(parts: Mapping[str, str]) -> bool:
    """Say whether the month has the day; a format without a year may mean a leap year."""
    month, day = parts.get("m") or parts.get("n"), parts.get("d") or parts.get("j")
    if month is None or day is None:
        return True
    year = parts.get("Y") or f"20{parts.get('y', '00')}"
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True


def at_least(subject: RuleSubject, words: Words) -> bool:
    """min."""
    return subject.size is not None and subject.size >= _number(words[0])


def at_most(subject: RuleSubject, words: Words) -> bool:
    """max."""
    return subject.size is not None and subject.size <= _number(words[0])


def between(subject: RuleSubject, words: Words) -> bool:
    """Within both bounds, inclusive."""
    return at_least(subject, words[:1]) and at_most(subject, words[1:])


def exactly(subject: RuleSubject, words: Words) -> bool:
    """size."""
    return subject.size == _number(words[0])


def greater(subject: RuleSubject, words: Words) -> bool:
    """gt: a number or another input."""
    against = _compared_size(subject, words[0])
    return against is not None and subject.size is not None and subject.size > against


def greater_or_equal(subject: RuleSubject, words: Words) -> bool:
    """gte."""
    against = _compared_size(subject, words[0])
    return against is not None and subject.size is not None and subject.size >= against


def less(subject: RuleSubject, words: Words) -> bool:
    """lt."""
    against = _compared_size(subject, words[0])
    return against is not None and subject.size is not None and subject.size < against


def less_or_equal(subject: RuleSubject, words: Words) -> bool:
    """lte."""
    against = _compared_size(subject, words[0])
    return against is not None and subject.size is not None and subject.size <= against


def digits(subject: RuleSubject, words: Words) -> bool:
    """Exactly this many digits and nothing else."""
    return digits_between(subject, [words[0], words[0]])


def digits_between(subject: RuleSubject, words: Words) -> bool:
    """A number of digits within bounds."""
    text = _text(subject.value)
    return re.fullmatch(r"\d+", text) is not None and (
        _number(words[0]) <= len(text) <= _number(words[1])
    )


def decimal(subject: RuleSubject, words: Words) -> bool:
    """This many decimal places, or between two counts."""
    if subject.number is None:
        return False
    places = len(str(subject.value).strip().partition(".")[2])
    return _number(words[0]) <= places <= _number(words[-1])


def multiple_of(subject: RuleSubject, words: Words) -> bool:
    """Divisible without a remainder."""
    return subject.number is not None and subject.number % _number(words[0]) == 0


def is_in(subject: RuleSubject, words: Words) -> bool:
    """One of the values; for a list, each item."""
    values = subject.value if isinstance(subject.value, list) else [subject.value]
    return all(_is_one_of(replace(subject, value=value), words) for value in values)


def is_not_in(subject: RuleSubject, words: Words) -> bool:
    """None of the values."""
    return not _is_one_of(subject, words)


def matches(subject: RuleSubject, words: Words) -> bool:
    """regex."""
    return _is_short(subject) and compiled_pattern(words[0]).search(_text(subject.value))


def does_not_match(subject: RuleSubject, words: Words) -> bool:
    """not_regex."""
    return _is_short(subject) and not compiled_pattern(words[0]).search(_text(subject.value))


def is_alpha(subject: RuleSubject, _words: Words) -> bool:
    """Letters of any language."""
    return isinstance(subject.value, str) and subject.value.isalpha()


def is_alpha_num(subject: RuleSubject, _words: Words) -> bool:
    """Letters and digits."""
    return _text(subject.value).isalnum()


def is_alpha_dash(subject: RuleSubject, _words: Words) -> bool:
    """Letters, digits, dashes and underscores."""
    return re.fullmatch(r"[\w-]+", _text(subject.value)) is not None


def is_ascii(subject: RuleSubject, _words: Words) -> bool:
    """ASCII only."""
    return isinstance(subject.value, str) and subject.value.isascii()


def is_lowercase(subject: RuleSubject, _words: Words) -> bool:
    """No uppercase letter."""
    return isinstance(subject.value, str) and subject.value == subject.value.lower()


def is_uppercase(subject: RuleSubject, _words: Words) -> bool:
    """No lowercase letter."""
    return isinstance(subject.value, str) and subject.value == subject.value.upper()


def starts_with(subject: RuleSubject, words: Words) -> bool:
    """Starts with any of the values."""
    return _text(subject.value).startswith(tuple(words))


def ends_with(subject: RuleSubject, words: Words) -> bool:
    """Ends with any of the values."""
    return _text(subject.value).endswith(tuple(words))


def same(subject: RuleSubject, words: Words) -> bool:
    """Equal to another input."""
    return bool(subject.value == subject.other(words[0]).value)


def different(subject: RuleSubject, words: Words) -> bool:
    """Not equal to another input."""
    return not same(subject, words)


def distinct(subject: RuleSubject, _words: Words) -> bool:
    """No duplicate: in a list, or among all values of a name with `*`."""
    mine = json.dumps(subject.value, sort_keys=True)
    items = subject.value
    if not isinstance(items, list):
        name = re.sub(r"(?<=\.)\d+(?=\.|$)", "*", subject.path)
        items = [each.value for each in subjects(name, subject.data) if each.is_present]
        return [json.dumps(item, sort_keys=True) for item in items].count(mine) <= 1
    texts = [json.dumps(item, sort_keys=True) for item in items]
    return len(set(texts)) == len(texts)


def is_url(subject: RuleSubject, _words: Words) -> bool:
    """An http or https URL; whether it responds is checked elsewhere."""
    return isinstance(subject.value, str) and address_problem(subject.value.strip()) is None


def is_source(subject: RuleSubject, _words: Words) -> bool:
    """The address of a source: a URL, or an uploaded file as `file-id:<id>`."""
    return isinstance(subject.value, str) and source_problem(subject.value.strip()) is None


def is_https(subject: RuleSubject, _words: Words) -> bool:
    """An https URL."""
    value = subject.value
    return isinstance(value, str) and address_problem(value.strip(), ("https",)) is None


def is_email(subject: RuleSubject, _words: Words) -> bool:
    """An e-mail address."""
    return isinstance(subject.value, str) and _EMAIL.fullmatch(subject.value) is not None


def is_uuid(subject: RuleSubject, _words: Words) -> bool:
    """uuid."""
    return isinstance(subject.value, str) and _UUID.fullmatch(subject.value) is not None


def is_ulid(subject: RuleSubject, _words: Words) -> bool:
    """ulid."""
    return isinstance(subject.value, str) and _ULID.fullmatch(subject.value) is not None


def is_ip(subject: RuleSubject, _words: Words) -> bool:
    """Version 4 or 6."""
    try:
        ipaddress.ip_address(subject.value if isinstance(subject.value, str) else "")
    except ValueError:
        return False
    return True


def is_timezone(subject: RuleSubject, _words: Words) -> bool:
    """In the format of a time zone; there is no list here."""
    return isinstance(subject.value, str) and _ZONE.fullmatch(subject.value) is not None


def is_hex_color(subject: RuleSubject, _words: Words) -> bool:
    """#RGB up to #RRGGBBAA."""
    return isinstance(subject.value, str) and _HEX_COLOUR.fullmatch(subject.value) is not None


def is_color(subject: RuleSubject, _words: Words) -> bool:
    """Any colour that a config accepts."""
    return isinstance(subject.value, str) and read_colour(subject.value) is not None


def _number(word: str) -> Fraction:
    number = number_of(word)
    assert number is not None  # Rules with other arguments are rejected when they are parsed.
    return number


def _compared_size(subject: RuleSubject, word: str) -> Fraction | None:
    number = number_of(word)
    return subject.other(word).size if number is None else number


def _is_one_of(subject: RuleSubject, words: Words) -> bool:
    """Say whether a value is one of the words: the number 1.0 is the word 1."""
    if _text(subject.value) in words:
        return True
    return subject.is_compared_as_number and subject.number in _numbers(tuple(words))


@lru_cache(maxsize=64)
def _numbers(words: tuple[str, ...]) -> frozenset[Fraction]:
    """Return the words that are numbers; the same ones are compared with each item of a list."""
    return frozenset(number for word in words if (number := number_of(word)) is not None)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "null" if value is None else str(value)


def _is_short(subject: RuleSubject) -> bool:
    return len(_text(subject.value)) <= MAX_SUBJECT_CHARS
