"""A restricted Liquid: no other templates, no clock, few tags and filters, bounded work.

This module and its filters alone import python-liquid, which is slow to import: `liquid_text`
imports this module when there is something to parse. A text is parsed once (`parse`), then
rendered. A text that is only one placeholder is evaluated instead, so that its value keeps its
type.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import liquid
from liquid.builtin.output import OutputNode
from liquid.exceptions import LiquidError
from liquid.undefined import is_undefined

from framekiln.composition.templates.liquid_error import MAX_TEXT_CHARS, TemplateLiquidError
from framekiln.composition.templates.liquid_filters import bounded, date
from framekiln.kit.suggestions import nearest_name

LARGEST: Final = 10**15
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

    @property
    def names(self) -> frozenset[str]:
        """The names of variables that it needs, up to their first dot."""
        return frozenset(self.template.analyze(include_partials=False).globals)

    @property
    def filters(self) -> frozenset[str]:
        """The filters it uses; the library itself looks them up only when they run."""
        return frozenset(self.template.analyze(include_partials=False).filters)

    def fill(self, values: Mapping[str, Any]) -> Any:
        """Return the text with its placeholders replaced.

        A text that is only one placeholder returns the value itself: a number stays a number.
        """
        nodes = self.template.nodes
        try:
            if len(nodes) == 1 and isinstance(nodes[0], OutputNode):
                context = liquid.RenderContext(self.template, globals=values)
                return _plain(nodes[0].expression.evaluate(context))
            return self.template.render(**values)
        except LiquidError as error:
            raise _fault(error) from None
        except (ArithmeticError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise TemplateLiquidError("template_syntax", f"cannot be filled in: {error}") from None


def parse(text: str) -> LiquidText:
    """Return the parsed text, or raise `TemplateLiquidError`."""
    if len(text) > MAX_TEXT_CHARS:
        raise TemplateLiquidError("template_syntax", "is too long to be a template")
    try:
        parsed = LiquidText(_LIQUID.from_string(text))
        unknown = sorted(parsed.filters - _LIQUID.filters.keys())
        if unknown:
            near = nearest_name(unknown[0], _LIQUID.filters)
            hint = f", did you mean {near}?" if near else ""
            raise TemplateLiquidError(
                "template_syntax", f"{unknown[0][:60]} is no filter here{hint}"
            )
        return parsed
    except LiquidError as error:
        raise _fault(error) from None
    except (ValueError, RecursionError, AssertionError):
        raise TemplateLiquidError("template_syntax", "is no Liquid") from None


def _fault(error: LiquidError) -> TemplateLiquidError:
    words = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, liquid.exceptions.UndefinedError):
        return TemplateLiquidError("unknown_input", f"holds a name without a value: {words[:200]}")
    return TemplateLiquidError(
        "template_syntax", f"is no Liquid that can be filled in: {words[:200]}"
    )


def _plain(value: object) -> Any:
    """Return a Liquid value as JSON."""
    if is_undefined(value):
        raise TemplateLiquidError("unknown_input", "holds a name without a value")
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and abs(value) > LARGEST:
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
