"""Warnings as their owner reads them, each with a code for programs.

A warning is a text wherever it goes, and JSON keeps texts only: what stores warnings stores their
codes beside them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

UNKNOWN_CODE: Final = "render"
"""Of warnings that older versions stored."""


class WarningText(str):
    """The text of a warning that has a code."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, text: str) -> Self:
        """Return the text with its code."""
        made = super().__new__(cls, text)
        made.code = code
        return made

    def __reduce__(self) -> tuple[type["WarningText"], tuple[str, str]]:
        """Return what copies are made of."""
        return WarningText, (self.code, str(self))


def reworded(warning: str, text: str) -> str:
    """Return another text with the code of a warning, if that has one."""
    return WarningText(warning.code, text) if isinstance(warning, WarningText) else text


def codes_by_text(warnings: Iterable[str]) -> dict[str, str]:
    """Return the codes of those warnings that have one."""
    return {str(each): each.code for each in warnings if isinstance(each, WarningText)}


def warnings_as_json(warnings: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a record that keep warnings and their codes."""
    warnings = list(warnings)
    return {"warnings": warnings, "warning_codes": codes_by_text(warnings)}


def warnings_from_json(record: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the warnings of a record; older ones have no codes, and some no warnings."""
    record = record or {}
    codes = record.get("warning_codes", {})
    texts = record.get("warnings", ())
    return tuple(WarningText(codes[each], each) if each in codes else each for each in texts)
