"""Liquid filters with bounded time and memory, and no access to the clock."""

import functools
import re
from collections.abc import Callable, Sized
from datetime import UTC, datetime
from typing import Any, Final

from liquid.exceptions import FilterArgumentError
from liquid.undefined import is_undefined

MAX_CHARS: Final = 200_000
_MAX_BITS: Final = 1024
_MAX_DIGITS: Final = 100
_MAX_ARGUMENT_CHARS: Final = 20_000
_MAX_ITEMS: Final = 10_000
_DATE_FORMAT: Final = re.compile(r"(?:[^%]|%-?[a-zA-Z%]){0,200}", re.DOTALL)


def bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter with limits for its arguments and result."""

    @functools.wraps(function)
    def run(value: Any, *arguments: Any, context: Any, **options: Any) -> Any:
        if not is_undefined(value):
            _check(name, value, arguments)
            context.budget.spend(1 + sum(_size(each) for each in (value, *arguments)))
        result = function(value, *arguments, **options)
        if isinstance(result, str) and len(result) > MAX_CHARS:
            raise FilterArgumentError(f"{name}: the text becomes too long", token=None)
        if isinstance(result, int) and result.bit_length() > _MAX_BITS:
            raise FilterArgumentError(f"{name}: the number becomes too large", token=None)
        return result

    # The library passes the context to filters with this attribute.
    run.with_context = True  # type: ignore[attr-defined]
    return run


def date(value: Any, written_as: Any = "%Y-%m-%d") -> str:
    """Return a date in another format.

    Only complete ISO 8601 dates and seconds since 1970 are accepted. Others would have to be
    completed from the clock, and the same data would not give the same video.
    """
    if is_undefined(value):
        return ""
    if not _DATE_FORMAT.fullmatch(str(written_as)):
        raise FilterArgumentError("date: the format is not understood", token=None)
    try:
        return _instant(value).strftime(str(written_as))
    except (ValueError, OverflowError, OSError):
        message = "date: must be an ISO 8601 date or seconds since 1970; now and today are unknown"
        raise FilterArgumentError(message, token=None) from None


def _instant(value: Any) -> datetime:
    text = str(value).strip()
    if re.fullmatch(r"-?\d{1,11}", text):
        return datetime.fromtimestamp(int(text), UTC)
    return datetime.fromisoformat(text)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, Sized) and not is_undefined(value) else 1


def _check(name: str, value: Any, arguments: tuple[Any, ...]) -> None:
    if name == "round" and any(_is_over(each, _MAX_DIGITS) for each in arguments):
        raise FilterArgumentError(f"{name}: at most {_MAX_DIGITS} digits", token=None)
    if isinstance(value, Sized) and not isinstance(value, str) and len(value) > _MAX_ITEMS:
        raise FilterArgumentError(f"{name}: there are too many items", token=None)
    sizes = [len(each) for each in arguments if isinstance(each, str)]
    if max(sizes, default=0) > _MAX_ARGUMENT_CHARS:
        raise FilterArgumentError(f"{name}: an argument is too long", token=None)
    grows_by = 0
    if name == "replace" and len(arguments) == 2:
        grows_by = str(value).count(str(arguments[0])) * len(str(arguments[1]))
    elif name == "join" and isinstance(value, Sized):
        grows_by = len(value) * sum(sizes)
    if grows_by > MAX_CHARS:
        raise FilterArgumentError(f"{name}: the text becomes too long", token=None)


def _is_over(value: Any, most: int) -> bool:
    try:
        return abs(int(value)) > most
    except (TypeError, ValueError, OverflowError):
        return False
