"""Issues as errors that validators raise, and pydantic's errors as issues."""

from functools import reduce
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, join_path

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
