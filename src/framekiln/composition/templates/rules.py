"""The rules of template inputs: `required|string|max:20`, or an array of such texts.

A rule checks a value with its arguments; its error message is in the same table. Only presence
rules check absent values.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from framekiln.composition.templates import rule_checks
from framekiln.composition.templates.patterns import PatternBudget, UnusablePattern
from framekiln.composition.templates.rule_subject import RuleSubject, number_of
from framekiln.kit.suggestions import did_you_mean

Check = Callable[[RuleSubject, Sequence[str]], bool]
_ANY_NUMBER: Final = 1000
MAX_RULES: Final = 50
_LENGTHS: Final = {
    "min": "at least {0}",
    "max": "at most {0}",
    "between": "{0} to {1}",
    "size": "exactly {0}",
}
"""What messages say of texts and lists, whose length these rules check."""


@dataclass(frozen=True)
class RuleType:
    """A rule by its name: the check, the number of arguments, and the error message."""

    check: Check
    arguments: tuple[int, int]
    message: str
    code: str
    is_presence: bool = False
    needs_numbers: bool = False


@dataclass(frozen=True)
class Rule:
    """A rule with its arguments, as in a template."""

    name: str
    arguments: tuple[str, ...] = ()

    @property
    def rule_type(self) -> RuleType:
        """Its definition."""
        return KINDS[self.name]

    def message_about(self, subject: RuleSubject) -> str:
        """Return the error message for a value."""
        unit = subject.unit
        if unit and self.name in _LENGTHS:
            words = _LENGTHS[self.name].format(*self.arguments)
            return f"must have {words} {unit if self.arguments[-1] == '1' else unit + 's'}"
        if self.name == "decimal":
            counts = " to ".join(self.arguments)
            return f"must have {counts} decimal{'' if counts == '1' else 's'}"
        return self.rule_type.message.format(
            *self.arguments, *[""] * 3, all=", ".join(self.arguments)
        )


class UnknownRule(ValueError):
    """A rule that does not parse; the message says why, `hint` suggests a name."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def parse_rules(value: object, patterns: PatternBudget) -> tuple[Rule, ...]:
    """Return the rules in a text or an array of texts, or raise `UnknownRule`."""
    if isinstance(value, str):
        words = [word for word in value.split("|") if word.strip()]
    elif isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        words = list(value)
    else:
        raise UnknownRule("must be rules such as required|string, or an array of them")
    if len(words) > MAX_RULES:
        raise UnknownRule(f"has more than {MAX_RULES} rules")
    return tuple(_parse_one(word.strip(), patterns) for word in _joined_media(words))


def _joined_media(words: list[str]) -> list[str]:
    # media:video|audio is a common way to write a choice, but `|` separates rules.
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].startswith("media:") and word.strip() in rule_checks.MEDIA_TYPES:
            joined[-1] += f",{word.strip()}"
        else:
            joined.append(word.strip())
    return joined


def _parse_one(word: str, patterns: PatternBudget) -> Rule:
    name, has_arguments, rest = word.partition(":")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()
    kind = KINDS.get(name)
    if kind is None:
        shown = name[:60] or "an empty rule"
        raise UnknownRule(f"{shown} is not a rule", did_you_mean(name, KINDS))
    if not has_arguments:
        arguments: tuple[str, ...] = ()
    elif name in ("regex", "not_regex", "date_format"):
        arguments = (rest,)
    else:
        arguments = tuple(part.strip().strip('"') for part in rest.split(","))
    least, most = kind.arguments
    if not least <= len(arguments) <= most:
        raise UnknownRule(f"{name} needs {_count(least, most)}")
    _check_arguments(name, kind, arguments)
    if name in ("regex", "not_regex"):
        try:
            patterns.take(arguments[0])
        except UnusablePattern as error:
            raise UnknownRule(f"{name}: {error}") from None
    return Rule(name, arguments)


def _count(least: int, most: int) -> str:
    if most == 0:
        return "no argument"
    if least == most:
        return f"{least} argument" + ("s" if least > 1 else "")
    return f"at least {least} argument" + ("s" if least > 1 else "")


def _check_arguments(name: str, kind: RuleType, arguments: tuple[str, ...]) -> None:
    if kind.needs_numbers and any(number_of(each) is None for each in arguments):
        raise UnknownRule(f"{name} needs numbers")
    if name == "multiple_of" and number_of(arguments[0]) == 0:
        raise UnknownRule("multiple_of needs a number other than 0")
    if name == "media" and not set(arguments) <= rule_checks.MEDIA_TYPES:
        raise UnknownRule(f"media knows {', '.join(sorted(rule_checks.MEDIA_TYPES))}")


def _kind(
    check: Check, message: str, *, arguments: tuple[int, int] = (0, 0), **more: Any
) -> RuleType:
    return RuleType(check, arguments, message, **{"code": "invalid", **more})


def _presence(check: Check, message: str, arguments: tuple[int, int] = (0, 0)) -> RuleType:
    return RuleType(check, arguments, message, "required", is_presence=True)


def _sized(check: Check, message: str, count: int = 1) -> RuleType:
    return RuleType(check, (count, count), message, "out_of_range", needs_numbers=True)


def _compared(check: Check, message: str) -> RuleType:
    return RuleType(check, (1, 1), message, "out_of_range")


_SOME: Final = (1, _ANY_NUMBER)

KINDS: Final[dict[str, RuleType]] = {
    "required": _presence(rule_checks.is_filled, "is required"),
    "required_if": _presence(rule_checks.required_if, "is required", (2, _ANY_NUMBER)),
    "required_unless": _presence(rule_checks.required_unless, "is required", (2, _ANY_NUMBER)),
    "required_with": _presence(rule_checks.required_with, "is required together with {all}", _SOME),
    "required_without": _presence(rule_checks.required_without, "is required without {all}", _SOME),
    "present": _presence(rule_checks.is_present, "must be present"),
    "filled": _presence(rule_checks.filled_if_present, "must not be empty"),
    "nullable": _kind(rule_checks.always_passes, ""),
    "sometimes": _kind(rule_checks.always_passes, ""),
    "bail": _kind(rule_checks.always_passes, ""),
    "string": _kind(rule_checks.is_string, "must be a string", code="type"),
    "numeric": _kind(rule_checks.is_numeric, "must be a number", code="type"),
    "integer": _kind(rule_checks.is_integer, "must be a whole number", code="type"),
    "boolean": _kind(rule_checks.is_boolean, "must be true or false", code="type"),
    "array": _kind(rule_checks.is_array, "must be an array", code="type"),
    "json": _kind(rule_checks.is_json, "must be JSON text", code="type"),
    "date": _kind(rule_checks.is_date, "must be an ISO 8601 date", code="type"),
    "date_format": _kind(
        rule_checks.has_date_format, "must be a date like {0}", arguments=(1, 1), code="type"
    ),
    "min": _sized(rule_checks.at_least, "must be at least {0}"),
    "max": _sized(rule_checks.at_most, "must be at most {0}"),
    "between": _sized(rule_checks.between, "must be between {0} and {1}", 2),
    "size": _sized(rule_checks.exactly, "must be exactly {0}"),
    "gt": _compared(rule_checks.greater, "must be more than {0}"),
    "gte": _compared(rule_checks.greater_or_equal, "must be at least {0}"),
    "lt": _compared(rule_checks.less, "must be less than {0}"),
    "lte": _compared(rule_checks.less_or_equal, "must be at most {0}"),
    "digits": _sized(rule_checks.digits, "must be {0} digits"),
    "digits_between": _sized(rule_checks.digits_between, "must be {0} to {1} digits", 2),
    "decimal": RuleType(
        rule_checks.decimal,
        (1, 2),
        "must have decimals",
        "out_of_range",
        needs_numbers=True,
    ),
    "multiple_of": _sized(rule_checks.multiple_of, "must be a multiple of {0}"),
    "in": _kind(rule_checks.is_in, "must be one of {all}", arguments=_SOME, code="unknown_value"),
    "not_in": _kind(
        rule_checks.is_not_in, "must not be {all}", arguments=_SOME, code="unknown_value"
    ),
    "regex": _kind(rule_checks.matches, "must match {0}", arguments=(1, 1)),
    "not_regex": _kind(rule_checks.does_not_match, "must not match {0}", arguments=(1, 1)),
    "alpha": _kind(rule_checks.is_alpha, "must be letters only"),
    "alpha_num": _kind(rule_checks.is_alpha_num, "must be letters and digits only"),
    "alpha_dash": _kind(rule_checks.is_alpha_dash, "must be letters, digits, - and _ only"),
    "ascii": _kind(rule_checks.is_ascii, "must be ASCII only"),
    "lowercase": _kind(rule_checks.is_lowercase, "must be lower case"),
    "uppercase": _kind(rule_checks.is_uppercase, "must be upper case"),
    "starts_with": _kind(rule_checks.starts_with, "must start with {all}", arguments=_SOME),
    "ends_with": _kind(rule_checks.ends_with, "must end with {all}", arguments=_SOME),
    "same": _kind(rule_checks.same, "must be the same as {0}", arguments=(1, 1)),
    "different": _kind(rule_checks.different, "must differ from {0}", arguments=(1, 1)),
    "distinct": _kind(rule_checks.distinct, "must not hold anything twice"),
    "url": _kind(rule_checks.is_url, "must be an http or https URL", code="not_url"),
    "active_url": _kind(rule_checks.is_url, "must be an http or https URL", code="not_url"),
    "https": _kind(rule_checks.is_https, "must be an https URL", code="not_url"),
    "media": _kind(
        rule_checks.is_source, "must be the URL of {all}", arguments=(1, 3), code="not_url"
    ),
    "duration_max": RuleType(
        rule_checks.is_source, (1, 1), "must be a URL of media", "not_url", needs_numbers=True
    ),
    "email": _kind(rule_checks.is_email, "must be an email address"),
    "uuid": _kind(rule_checks.is_uuid, "must be a UUID"),
    "ulid": _kind(rule_checks.is_ulid, "must be a ULID"),
    "ip": _kind(rule_checks.is_ip, "must be an IP address"),
    "timezone": _kind(rule_checks.is_timezone, "must be a time zone such as Europe/Berlin"),
    "hex_color": _kind(rule_checks.is_hex_color, "must be a colour such as #RRGGBB"),
    "color": _kind(rule_checks.is_color, "must be a CSS colour", code="not_a_color"),
}
