"""Values of inputs with the types that their rules name.

Cells of CSV and fields of forms are texts, and rules accept the texts of numbers and booleans. In
Liquid the text "0" is true and the text "5" is not 5, so conditions would decide wrongly. A blank
text is no number and no boolean, but null: an empty cell, and not true.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from framekiln.composition.layers.numbers import numeric_text
from framekiln.composition.templates.inputs import Inputs
from framekiln.composition.templates.rules import Rule

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


class NumberText(str):
    """A number as its sender wrote it: printed like that, compared as a number."""

    __slots__ = ()

    def __liquid__(self) -> object:
        """Return what Liquid compares."""
        number = numeric_text(self)
        return str(self) if number is None else _plain_number(number)


def typed_values(inputs: Inputs, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of inputs as their rules understand them; others stay as they are."""
    typed = dict(values)
    for name, rules in inputs.rules.items():
        convert = _conversion(rules)
        root, *inner = name.split(".")
        if convert is not None and root in typed:
            typed[root] = _converted(typed[root], inner, convert)
    return typed


def _conversion(rules: tuple[Rule, ...]) -> Callable[[Any], Any] | None:
    names = {rule.name for rule in rules}
    if "string" in names:
        return None
    if "boolean" in names:
        return _boolean
    return _number if names & {"numeric", "integer"} else None


def _converted(value: Any, path: list[str], convert: Callable[[Any], Any]) -> Any:
    if not path:
        return None if _is_blank(value) else convert(value)
    part, rest = path[0], path[1:]
    if isinstance(value, Mapping) and part in value:
        return {**value, part: _converted(value[part], rest, convert)}
    if isinstance(value, list):
        return [
            _converted(item, rest, convert) if part in ("*", str(index)) else item
            for index, item in enumerate(value)
        ]
    return value


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _boolean(value: Any) -> Any:
    if isinstance(value, str):
        return _BOOLEANS.get(value, value)
    return bool(value) if value in (0, 1) else value


def _number(value: Any) -> Any:
    return NumberText(value) if isinstance(value, str) and numeric_text(value) else value


def _plain_number(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)
