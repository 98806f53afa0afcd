"""A restricted Liquid: no other templates, no clock, few tags and filters, bounded work.

This module and its filters alone import python-liquid, which is slow to import: `liquid_text`
imports this module when there is something to parse. A text is parsed once (`parse`), then
rendered. A text that is only one placeholder is evaluated instead, so that its value keeps its
type.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from io import StringIO
from typing import Any, Final, TextIO

import liquid
from liquid.builtin.output import OutputNode
from liquid.exceptions import LiquidError
from liquid.output import LimitedStringIO
from liquid.static_analysis import TemplateAnalysis
from liquid.undefined import is_undefined

from framekiln.composition.templates.budget import WorkBudget
from framekiln.composition.templates.liquid_error import MAX_TEXT_CHARS, TemplateLiquidError
from framekiln.composition.templates.liquid_filters import bounded, date
from framekiln.kit.suggestions import nearest_name

MAX_INTEGER: Final = 10**15
MAX_LIST_ITEMS: Final = 10_000
_TAGS: Final = {"if", "unless", "case", "for", "break", "continue", "assign", "capture", "comment"}
_ALWAYS: Final = {"raw", "content", "output", "illegal"}
_TEXT_FILTERS: Final = (
    *("default", "upcase", "downcase", "capitalize", "strip", "truncate", "replace", "append"),
    *("prepend", "escape", "url_encode", "join", "first", "last", "size"),
)
_NUMBER_FILTERS: Final = ("round", "ceil", "floor", "plus", "minus", "times", "divided_by")


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
        return TemplateLiquidError("unknown_input", f"holds a name without a value: {words[:200]}")
    return TemplateLiquidError("template_syntax", f"is not valid Liquid: {words[:200]}")


def _plain(value: object) -> Any:
    """Return a Liquid value as JSON."""
    if is_undefined(value):
        raise TemplateLiquidError("unknown_input", "holds a name without a value")
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
