"""The texts of a template's config: their parsing, and the check of their names."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from framekiln.composition.layers.findings import ConfigFinding, joined_path
from framekiln.composition.templates.liquid_error import TemplateLiquidError
from framekiln.composition.templates.liquid_text import holds_liquid, parse
from framekiln.kit.suggestions import did_you_mean

if TYPE_CHECKING:
    from framekiln.composition.templates.liquid_engine import LiquidText

IN_REPEAT: Final = frozenset({"item", "index"})
"""Names that a repeated layer may use besides the inputs."""


def parse_text(text: str) -> "LiquidText":
    """Return a parsed text; spaces around a single placeholder do not make it a string."""
    inner = text.strip()
    is_one = inner.startswith("{{") and inner.endswith("}}") and inner.count("{{") == 1
    return parse(inner if is_one else text)


def parse_expression(text: str, *, is_condition: bool) -> "LiquidText":
    """Return the parsed expression of `when` or `repeat`, with or without braces."""
    inner = text.strip()
    if inner.startswith("{{") and inner.endswith("}}"):
        inner = inner[2:-2].strip("- ")
    elif holds_liquid(inner):
        return parse(inner)
    if not is_condition:
        return parse("{{ " + inner + " }}")
    try:
        return parse("{{ " + inner + " | default: nil }}")
    except TemplateLiquidError:
        return parse("{% if " + inner + " %}true{% endif %}")


def unknown_name(path: str, parsed: "LiquidText", allowed: frozenset[str]) -> ConfigFinding | None:
    """Return the error message for a name that is not an input, if the text has one."""
    unknown = sorted(parsed.names - allowed)
    if not unknown:
        return None
    hint = did_you_mean(unknown[0], allowed)
    return ConfigFinding(path, "unknown_input", f"{unknown[0][:100]} is not an input", hint)


def liquid_errors(value: Any, known: frozenset[str], path: str) -> Iterator[ConfigFinding]:
    """Yield the errors of all texts, including those of layers that a trial would leave out."""
    if isinstance(value, str):
        if holds_liquid(value):
            yield from _fault(path, known, value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            look = _faults_in_layers if name == "layers" else liquid_errors
            yield from look(inner, known, joined_path(path, name))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from liquid_errors(inner, known, joined_path(path, number))


def _faults_in_layers(layers: Any, known: frozenset[str], path: str) -> Iterator[ConfigFinding]:
    if not isinstance(layers, list):
        yield from liquid_errors(layers, known, path)
        return
    for number, layer in enumerate(layers):
        yield from _faults_in_layer(layer, known, joined_path(path, number))


def _faults_in_layer(layer: Any, known: frozenset[str], path: str) -> Iterator[ConfigFinding]:
    if not isinstance(layer, Mapping):
        yield from liquid_errors(layer, known, path)
        return
    if isinstance(layer.get("repeat"), str):
        yield from _fault(joined_path(path, "repeat"), known, layer["repeat"], is_condition=False)
    if layer.get("repeat") is not None:
        known |= IN_REPEAT
    if isinstance(layer.get("when"), str):
        yield from _fault(joined_path(path, "when"), known, layer["when"], is_condition=True)
    plain = {name: each for name, each in layer.items() if name not in ("when", "repeat")}
    yield from liquid_errors(plain, known, path)


def _fault(
    path: str, known: frozenset[str], text: str, *, is_condition: bool | None = None
) -> Iterator[ConfigFinding]:
    try:
        if is_condition is None:
            parsed = parse_text(text)
        else:
            parsed = parse_expression(text, is_condition=is_condition)
    except TemplateLiquidError as fault:
        yield ConfigFinding(path, fault.code, fault.message)
        return
    unknown = unknown_name(path, parsed, known)
    if unknown is not None:
        yield unknown
