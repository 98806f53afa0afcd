"""A restricted Liquid: no other templates, no clock, few tags and filters, bounded work.

This module alone imports python-liquid, which is slow to import: `liquid_text`
imports this module when there is something to parse. A text is parsed once (`parse`), then
rendered. A text that is only one placeholder is evaluated instead, so that its value keeps its
type.

Filters have bounded time and memory, and no access to the clock.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cached_property
from io import StringIO
from typing import Any, Final, TextIO

import liquid
from liquid.builtin.output import OutputNode
from liquid.exceptions import FilterArgumentError, LiquidError
from liquid.filter import math_filter, num_arg
from liquid.output import LimitedStringIO
from liquid.static_analysis import TemplateAnalysis
from liquid.undefined import is_undefined

from framekiln.composition.templates.budget import WorkBudget
from framekiln.composition.templates.liquid_error import MAX_TEXT_CHARS, TemplateLiquidError
from framekiln.kit.suggestions import nearest_name

MAX_CHARS: Final = 200_000
_MAX_BITS: Final = 1024
_MAX_DIGITS: Final = 100
# As many digits as a number of 1024 bits has, and those after its point.
_ROUNDING: Final = Context(prec=500, rounding=ROUND_HALF_UP)
_MAX_ARGUMENT_CHARS: Final = 20_000
_MAX_ITEMS: Final = 10_000
_DATE_FORMAT: Final = re.compile(r"(?:[^%]|%-?[a-zA-Z%]){0,200}", re.DOTALL)


def bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter with limits for its arguments and result."""

    @functools.wraps(function)
    def run(value: Any, *arguments: Any, context: Any, **options: Any) -> Any:
        if name in _PRINTED:
            value, arguments = _printed(value), tuple(map(_printed, arguments))
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
    if is_undefined(value) or value is None or not str(value).strip():
        return ""
    if not _DATE_FORMAT.fullmatch(str(written_as)):
        raise FilterArgumentError("date: the format is not understood", token=None)
    try:
        return _instant(value).strftime(str(written_as))
    except (ValueError, OverflowError, OSError):
        message = "date: must be an ISO 8601 date or seconds since 1970; now and today are unknown"
        raise FilterArgumentError(message, token=None) from None


@math_filter
def rounded(number: float, digits: Any = None) -> float:
    """Return the number rounded to digits after its point, or before it if they are negative.

    Halves are rounded away from zero, as in Liquid elsewhere; Python rounds them to even digits.
    """
    places = int(num_arg(digits, default=0))
    if isinstance(number, int) and places >= 0:
        return number
    found = _ROUNDING.quantize(Decimal(str(number)), Decimal(1).scaleb(-places))
    return float(found) if places > 0 else int(found)


def _printed(value: Any) -> Any:
    """Return the value for a filter of texts, which would print what Python calls it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ["" if each is None else _printed(each) for each in value]
    return value


def _default(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter, which keeps every text that is not empty.

    The library would replace a `NumberText` of 0, because 0 equals False in Python.
    """

    def run(value: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(value, str) and value:
            return value
        return function(value, *arguments, **options)

    return run


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


MAX_INTEGER: Final = 10**15
MAX_LIST_ITEMS: Final = 10_000
_UNEQUAL_TYPES: Final = (
    "compares a text with a number, or values without an order: an input with the rule numeric"
    " accepts numbers only"
)
_GIVE_VALUE: Final = "give it a value, or use the filter default"
_TAGS: Final = {"if", "unless", "case", "for", "break", "continue", "assign", "capture", "comment"}
_ALWAYS: Final = {"raw", "content", "output", "illegal"}
_TEXT_FILTERS: Final = (
    *("default", "upcase", "downcase", "capitalize", "strip", "truncate", "replace", "append"),
    *("prepend", "escape", "url_encode", "join", "first", "last", "size", "slice"),
)
_PRINTED: Final = frozenset(_TEXT_FILTERS) - {"default", "first", "last", "size", "slice"}
_NUMBER_FILTERS: Final = ("ceil", "floor", "plus", "minus", "times", "divided_by")


class _Missing(liquid.FalsyStrictUndefined):
    """An error when printed, but false in a condition and replaceable by `default`."""

    force_liquid_default = True
    __hash__ = liquid.FalsyStrictUndefined.__hash__


class _CountedIO(LimitedStringIO):
    """Output that counts what is written."""

    def __init__(self, *, limit: int, budget: WorkBudget) -> None:
        super().__init__(limit=limit)
        self._budget = budget

    def write(self, text: str) -> int:
        """Write a text, if the budget allows it."""
        self._budget.spend(len(text))
        return super().write(text)


class _Context(liquid.RenderContext):
    """Counts the work of one text."""

    __slots__ = ("budget", "text_chars")

    def __init__(self, text: "LiquidText", values: Mapping[str, Any], budget: WorkBudget) -> None:
        super().__init__(text.template, globals=values)
        self.budget = budget
        self.text_chars = text.char_count

    def raise_for_loop_limit(self, length: int = 1) -> None:
        """Count a loop before it begins."""
        super().raise_for_loop_limit(length)
        self.budget.spend(length * self.text_chars)

    def get_buffer(self, buf: TextIO | None = None) -> StringIO:
        """Return a buffer for a block."""
        used_chars = buf.size if isinstance(buf, LimitedStringIO) else 0
        return _CountedIO(limit=MAX_TEXT_CHARS - used_chars, budget=self.budget)


class _Environment(liquid.Environment):
    loop_iteration_limit = 10_000
    local_namespace_limit = 1_000_000
    output_stream_limit = MAX_TEXT_CHARS
    block_nesting_limit = 20
    context_depth_limit = 20


def _environment() -> liquid.Environment:
    environment = _Environment(undefined=_Missing, strict_filters=True)
    environment.tags = {
        name: tag
        for name, tag in environment.tags.items()
        if name in _TAGS or name in _ALWAYS or name.lower() in _ALWAYS
    }
    filters: dict[str, Callable[..., Any]] = environment.filters
    environment.filters = {
        name: bounded(name, filters[name]) for name in (*_TEXT_FILTERS, *_NUMBER_FILTERS)
    }
    environment.filters["date"] = date
    environment.filters["round"] = bounded("round", rounded)
    environment.filters["default"] = bounded("default", _default(filters["default"]))
    return environment


_LIQUID: Final = _environment()


@dataclass(frozen=True)
class LiquidText:
    """A parsed text."""

    template: liquid.BoundTemplate
    char_count: int

    @property
    def names(self) -> frozenset[str]:
        """The names of variables that it needs, up to their first dot."""
        return frozenset(self._analysis.globals)

    @property
    def filters(self) -> frozenset[str]:
        """The filters it uses; the library itself looks them up only when they run."""
        return frozenset(self._analysis.filters)

    @cached_property
    def _analysis(self) -> TemplateAnalysis:
        return self.template.analyze(include_partials=False)

    def fill(self, values: Mapping[str, Any], budget: WorkBudget) -> Any:
        """Return the text with its placeholders replaced.

        A text that is only one placeholder returns the value itself: a number stays a number.
        """
        nodes = self.template.nodes
        context = _Context(self, values, budget)
        try:
            if len(nodes) == 1 and isinstance(nodes[0], OutputNode):
                return _plain(nodes[0].expression.evaluate(context))
            buffer = context.get_buffer()
            self.template.render_with_context(context, buffer)
            return buffer.getvalue()
        except LiquidError as error:
            raise _fault(error) from None
        except (ArithmeticError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise TemplateLiquidError("template_syntax", f"cannot be filled in: {error}") from None


def parse(text: str) -> LiquidText:
    """Return the parsed text, or raise `TemplateLiquidError`."""
    if len(text) > MAX_TEXT_CHARS:
        raise TemplateLiquidError("template_syntax", "is too long to be a template")
    try:
        parsed = LiquidText(_LIQUID.from_string(text), len(text))
        unknown = sorted(parsed.filters - _LIQUID.filters.keys())
        if unknown:
            near = nearest_name(unknown[0], _LIQUID.filters)
            hint = f", did you mean {near}?" if near else ""
            raise TemplateLiquidError(
                "template_syntax", f"{unknown[0][:60]} is not a filter here{hint}"
            )
        return parsed
    except LiquidError as error:
        raise _fault(error) from None
    except (ValueError, RecursionError, AssertionError):
        raise TemplateLiquidError("template_syntax", "is not valid Liquid") from None


def _fault(error: LiquidError) -> TemplateLiquidError:
    words = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, liquid.exceptions.UndefinedError):
        return TemplateLiquidError("unknown_input", f"{words[:200]}: {_GIVE_VALUE}")
    if "not supported between" in words:
        # Of Python, which names its own types.
        return TemplateLiquidError("template_syntax", _UNEQUAL_TYPES)
    return TemplateLiquidError("template_syntax", f"is not valid Liquid: {words[:200]}")


def _plain(value: object) -> Any:
    """Return a Liquid value as JSON."""
    if is_undefined(value):
        raise TemplateLiquidError("unknown_input", f"holds a name without a value: {_GIVE_VALUE}")
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise TemplateLiquidError("template_syntax", "gives a number that is too large")
    if value is None or isinstance(value, bool | int | float | Mapping):
        return value
    if isinstance(value, list | tuple | range):
        if len(value) > MAX_LIST_ITEMS:
            raise TemplateLiquidError(
                "template_syntax", f"is a list of more than {MAX_LIST_ITEMS} items"
            )
        return [_plain(item) for item in value]
    return str(value)[:MAX_TEXT_CHARS]
