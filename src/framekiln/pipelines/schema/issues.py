"""What is wrong with a value from outside, and where: every issue of it, not the first alone.

A path is dotted (`steps.scenes.with.threshold`) and empty for the value itself. What is over a
limit of number or depth is reported once and not looked into. Validators raise issues as errors of
pydantic; `issues_of` reads them back, with pydantic's own.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

# A key is repeated in a path, so it may be neither endless nor impossible to write as UTF-8.
MAX_NAME_CHARS = 80
_SURROGATE = re.compile("[\ud800-\udfff]")


class IssueCode(StrEnum):
    """The kinds of issues; these words are part of the interface.

    | Code               | Said of                                                           |
    |--------------------|-------------------------------------------------------------------|
    | `type`             | a value of the wrong JSON type                                    |
    | `required`         | a field that must be there                                        |
    | `unknown_field`    | a field nobody knows                                              |
    | `not_allowed`      | a known field that has no place here                              |
    | `out_of_range`     | a number too small, too large or not finite; a time out of bounds |
    | `pattern`          | a text that has not the form it must have                         |
    | `too_long`         | a text with too many characters                                   |
    | `empty`            | a text, list or object with nothing in it                         |
    | `too_many`         | a list or object with too many members                            |
    | `too_deep`         | something nested too far                                          |
    | `too_large`        | an output of too many bytes                                       |
    | `duplicate`        | something said twice that must be said once                       |
    | `unknown_type`     | a step type that does not exist                                   |
    | `unknown_step`     | a needed step that does not exist                                 |
    | `unknown_operator` | an operator that does not exist                                   |
    | `unknown_value`    | any other word that is not one of those allowed                   |
    | `unknown_track`    | a track that the file has not                                     |
    | `cycle`            | needs that lead back to their own step                            |
    | `not_upstream`     | a namespace, or a redaction, of no step that this one needs       |
    | `ambiguous`        | what could be one of several things                               |
    | `not_increasing`   | a time that does not come after the one before                    |
    """

    TYPE = "type"
    REQUIRED = "required"
    UNKNOWN_FIELD = "unknown_field"
    NOT_ALLOWED = "not_allowed"
    OUT_OF_RANGE = "out_of_range"
    PATTERN = "pattern"
    TOO_LONG = "too_long"
    EMPTY = "empty"
    TOO_MANY = "too_many"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    DUPLICATE = "duplicate"
    UNKNOWN_TYPE = "unknown_type"
    UNKNOWN_STEP = "unknown_step"
    UNKNOWN_OPERATOR = "unknown_operator"
    UNKNOWN_VALUE = "unknown_value"
    UNKNOWN_TRACK = "unknown_track"
    CYCLE = "cycle"
    NOT_UPSTREAM = "not_upstream"
    AMBIGUOUS = "ambiguous"
    NOT_INCREASING = "not_increasing"


ISSUE_WORDS = {
    IssueCode.TYPE: "has the wrong type",
    IssueCode.REQUIRED: "is missing",
    IssueCode.UNKNOWN_FIELD: "is not a field here",
    IssueCode.NOT_ALLOWED: "is not allowed here",
    IssueCode.OUT_OF_RANGE: "is out of range",
    IssueCode.PATTERN: "does not have the required form",
    IssueCode.TOO_LONG: "is too long",
    IssueCode.EMPTY: "is empty",
    IssueCode.TOO_MANY: "has too many items",
    IssueCode.TOO_DEEP: "is nested too deeply",
    IssueCode.TOO_LARGE: "has too many bytes",
    IssueCode.DUPLICATE: "is there twice",
    IssueCode.UNKNOWN_TYPE: "is not a step type",
    IssueCode.UNKNOWN_STEP: "is not a step of the definition",
    IssueCode.UNKNOWN_OPERATOR: "is not an operator",
    IssueCode.UNKNOWN_VALUE: "is not one of the allowed values",
    IssueCode.UNKNOWN_TRACK: "is not a track of the file",
    IssueCode.CYCLE: "leads back to its own step",
    IssueCode.NOT_UPSTREAM: "is of no step that this one needs",
    IssueCode.AMBIGUOUS: "could mean more than one step",
    IssueCode.NOT_INCREASING: "is not later than the one before",
}
"""What messages say of an issue after its path."""


@dataclass(frozen=True, order=True)
class ValidationIssue:
    """One thing that is wrong."""

    path: str
    code: IssueCode


class Location:
    """Where a reader is in a value. All places of one value share their list of issues."""

    # Large outputs have 100,000 places and no issue, so a path is written only when asked for.
    __slots__ = ("_name", "_parent", "issues")

    def __init__(
        self, issues: list[ValidationIssue], *, name: Any = "", parent: "Location | None" = None
    ) -> None:
        self.issues = issues
        self._name = name
        self._parent = parent

    def __truediv__(self, name: Any) -> "Location":
        """Return the place of a member: `place / "steps" / key`, `place / 3`."""
        return Location(self.issues, name=name, parent=self)

    @property
    def path(self) -> str:
        """The names that lead here, with dots between them."""
        name = path_segment(self._name)
        return name if self._parent is None else join_path(self._parent.path, name)

    def report(self, code: IssueCode) -> None:
        """Add an issue here."""
        self.issues.append(ValidationIssue(self.path, code))


def sorted_issues(issues: list[ValidationIssue]) -> list[ValidationIssue]:
    """Return each issue once, in an order that does not depend on the order of keys."""
    return sorted(set(issues))


def join_path(before: str, after: str) -> str:
    """Return the path of what lies at `after` inside the value at `before`."""
    return f"{before}.{after}" if before else after


def path_segment(name: Any) -> str:
    """Return a key or an index as it stands in a path: short, and possible to write as UTF-8."""
    if isinstance(name, bool) or not isinstance(name, str | int):
        return type(name).__name__
    if isinstance(name, int):
        return str(name) if abs(name) < 10**9 else "int"
    text = _SURROGATE.sub("\ufffd", name[: MAX_NAME_CHARS + 1])
    return text if len(text) <= MAX_NAME_CHARS else text[:MAX_NAME_CHARS] + "…"


# Types of errors that are pydantic's own; ours are named like their codes.
_CODES: Final = {
    "missing": IssueCode.REQUIRED,
    "unexpected_keyword_argument": IssueCode.UNKNOWN_FIELD,
    "dataclass_type": IssueCode.TYPE,
    "bool_type": IssueCode.TYPE,
    # Said of half a character where a word is one of several.
    "string_unicode": IssueCode.UNKNOWN_VALUE,
}
_WORD: Final = "literal_error"
_HERE: Final = "$"


def issue_error(code: IssueCode) -> PydanticCustomError:
    """Return what a validator raises when its value has one issue."""
    return PydanticCustomError(code.value, code.value)


class InnerIssues:
    """All issues of one value; the validator that finds them does not know where the value is."""

    def __init__(self) -> None:
        # A name of its own tells the value itself from a field with an empty name.
        self.place: Final = Location([], name=_HERE)

    def add(self, error: ValidationError) -> None:
        """Add an error of the value."""
        self.place.issues.extend(issues_of(error, _HERE))

    def raise_any(self) -> None:
        """Raise all of them at once, if there are any."""
        if self.place.issues:
            details = [_details(issue) for issue in self.place.issues]
            raise ValidationError.from_exception_data("issues", details)


def issues_of(error: ValidationError, path: str = "") -> list[ValidationIssue]:
    """Return the issues in an error of the value at `path`."""
    return [
        ValidationIssue(
            reduce(join_path, map(str, each["loc"]), path), _code(each["type"], each["input"])
        )
        for each in error.errors(include_url=False, include_context=False)
    ]


def _details(issue: ValidationIssue) -> InitErrorDetails:
    inside = (issue.path.removeprefix(f"{_HERE}."),) if issue.path != _HERE else ()
    return InitErrorDetails(type=issue_error(issue.code), loc=inside, input=None)


def _code(error_type: str, value: Any) -> IssueCode:
    if error_type == _WORD:
        return IssueCode.UNKNOWN_VALUE if isinstance(value, str) else IssueCode.TYPE
    return _CODES.get(error_type) or IssueCode(error_type)
