"""Fills data into a template's config, one string at a time, never as raw JSON text.

`when` decides whether a layer is kept. `repeat` makes one layer per item of a list, with `item` and
`index` in scope. Values are inserted once and not parsed again: data cannot contain templates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from framekiln.composition.layers.findings import ConfigFinding, joined_path
from framekiln.composition.templates.budget import (
    BudgetExceeded,
    TemplateTooCostly,
    WorkBudget,
)
from framekiln.composition.templates.layer_ids import with_suffix, without_references
from framekiln.composition.templates.liquid_error import MAX_TEXT_CHARS, TemplateLiquidError
from framekiln.composition.templates.liquid_text import holds_liquid
from framekiln.composition.templates.template_texts import (
    IN_REPEAT,
    parse_expression,
    parse_text,
    unknown_name,
)

if TYPE_CHECKING:
    from framekiln.composition.templates.liquid_engine import LiquidText

MAX_LAYERS: Final = 500
_MAX_FILLED_CHARS: Final = 8 * MAX_TEXT_CHARS


@dataclass
class TemplateFiller:
    """Fills one config. Errors are collected, and the values with errors become null."""

    known: frozenset[str]
    budget: WorkBudget
    issues: list[ConfigFinding] = field(default_factory=list)
    layer_count: int = 0
    char_count: int = 0

    def fill(self, value: Any, values: Mapping[str, Any], path: str = "") -> Any:
        """Return a value of the config with all of its placeholders filled."""
        if isinstance(value, str):
            return self._fill_text(value, values, path)
        if isinstance(value, Mapping):
            return {
                name: self._fill_layers(inner, values, joined_path(path, name))
                if name == "layers" and isinstance(inner, list)
                else self.fill(inner, values, joined_path(path, name))
                for name, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.fill(each, values, joined_path(path, i)) for i, each in enumerate(value)]
        return value

    def _fill_layers(self, layers: list[Any], values: Mapping[str, Any], path: str) -> list[Any]:
        filled: list[Any] = []
        removed: list[Mapping[str, Any]] = []
        for number, layer in enumerate(layers):
            place = joined_path(path, number)
            if not isinstance(layer, Mapping):
                filled.append(self.fill(layer, values, place))
                continue
            plain = {name: each for name, each in layer.items() if name not in ("when", "repeat")}
            for index, scope in self._copies(layer, values, place):
                if self.layer_count >= MAX_LAYERS:
                    self._issue(place, "out_of_range", f"there are more than {MAX_LAYERS} layers")
                    return filled
                if self._stays(layer, scope, place):
                    self.layer_count += 1
                    made = self.fill(plain, scope, place)
                    filled.append(made if index is None else with_suffix(made, index))
                else:
                    removed.append(self._removed(plain, scope, place, index))
        return without_references(filled, removed)

    def _removed(
        self, layer: Mapping[str, Any], values: Mapping[str, Any], path: str, index: int | None
    ) -> Mapping[str, Any]:
        """Return the id and start of a layer that is left out; errors in them do not matter."""
        head = {name: layer[name] for name in ("id", "timeline") if name in layer}
        made = TemplateFiller(self.known, self.budget).fill(head, values, path)
        return made if index is None else with_suffix(made, index)

    def _copies(
        self, layer: Mapping[str, Any], values: Mapping[str, Any], path: str
    ) -> list[tuple[int | None, Mapping[str, Any]]]:
        wanted = layer.get("repeat")
        if wanted is None:
            return [(None, values)]
        place = joined_path(path, "repeat")
        items = self._evaluate(wanted, values, place) if isinstance(wanted, str) else wanted
        if items is None:
            return []
        if not isinstance(items, list):
            self._issue(place, "type", "must be a list, or the name of an input that is one")
            return []
        if len(items) > MAX_LAYERS:
            self._issue(place, "out_of_range", f"must have at most {MAX_LAYERS} items")
            return []
        return [
            (index, {**values, "item": item, "index": index}) for index, item in enumerate(items)
        ]

    def _stays(self, layer: Mapping[str, Any], values: Mapping[str, Any], path: str) -> bool:
        when = layer.get("when")
        if when is None:
            return True
        if not isinstance(when, str):
            return bool(when)
        place = joined_path(path, "when")
        found = self._evaluate(when, values, place, is_condition=True)
        return bool(found) and found not in ("false", "0")

    def _evaluate(
        self, text: str, values: Mapping[str, Any], path: str, *, is_condition: bool = False
    ) -> Any:
        try:
            self.budget.spend(len(text))
            parsed = parse_expression(text, is_condition=is_condition)
            return self._filled(parsed, values, path)
        except TemplateLiquidError as fault:
            return self._issue(path, fault.code, fault.message)
        except BudgetExceeded:
            raise TemplateTooCostly.at(path, self.budget.steps) from None

    def _fill_text(self, text: str, values: Mapping[str, Any], path: str) -> Any:
        if not holds_liquid(text):
            return text
        try:
            self.budget.spend(len(text))
            return self._filled(parse_text(text), values, path)
        except TemplateLiquidError as fault:
            return self._issue(path, fault.code, fault.message)
        except BudgetExceeded:
            raise TemplateTooCostly.at(path, self.budget.steps) from None

    def _filled(self, parsed: "LiquidText", values: Mapping[str, Any], path: str) -> Any:
        unknown = unknown_name(path, parsed, self.known | (IN_REPEAT & values.keys()))
        if unknown is not None:
            return self._issue(path, unknown.code, unknown.message, unknown.hint)
        filled = parsed.fill(values, self.budget)
        self.char_count += len(filled) if isinstance(filled, str) else 0
        if self.char_count > _MAX_FILLED_CHARS:
            return self._issue(path, "out_of_range", "the filled config becomes too long")
        return filled

    def _issue(self, path: str, code: str, message: str, hint: str | None = None) -> None:
        if len(self.issues) < 200:
            self.issues.append(ConfigFinding(path, code, message, hint))
