"""Templates: a layer config with named inputs. Checked when created, filled when rendered.

read_template     what a caller sends as a template; raises `InvalidTemplate`
fill_template     a template and data give a filled config; raises `InvalidData`
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from framekiln.composition.layers.config_json import ReadOptions, parse_config, read_config
from framekiln.composition.layers.findings import MAX_FINDINGS, ConfigFinding, InvalidConfig
from framekiln.composition.layers.frozen_json import FrozenJson, json_problem
from framekiln.composition.layers.limits import ConfigLimits
from framekiln.composition.templates.budget import WorkBudget
from framekiln.composition.templates.defaults import fill_defaults
from framekiln.composition.templates.filler import TemplateFiller
from framekiln.composition.templates.inputs import (
    Inputs,
    RemoteCheck,
    check_data,
    read_inputs,
)
from framekiln.composition.templates.template_texts import liquid_errors
from framekiln.kit.errors import InvalidInput
from framekiln.kit.suggestions import did_you_mean, nearest_name

MAX_STEPS: Final = 5_000_000
"""Seconds of work, at most."""
NOT_CHECKED: Final = "not_checked"
"""The code of the warning about a config that has to be filled first."""
_OF_VALUES: Final = ("template_syntax", "unknown_input")


class InvalidTemplate(InvalidInput):
    """A template that could never be rendered; `issues` says where."""

    def __init__(self, issues: Iterable[ConfigFinding]) -> None:
        self.issues = tuple(issues)
        super().__init__(_message(self.issues), **_details(self.issues))


class InvalidData(InvalidInput):
    """Data that the rules of a template reject; `errors` has the messages by input."""

    def __init__(self, issues: Iterable[ConfigFinding]) -> None:
        self.issues = tuple(issues)
        super().__init__(_message(self.issues), **_details(self.issues))


@dataclass(frozen=True)
class Template:
    """A template that can be filled."""

    config: FrozenJson
    inputs: Inputs
    default_values: FrozenJson

    @property
    def names(self) -> frozenset[str]:
        """The names that placeholders may use."""
        return self.inputs.roots | frozenset(self.default_values.thaw())


@dataclass(frozen=True)
class ParsedTemplate:
    """A template and the warnings about it."""

    template: Template
    warnings: tuple[ConfigFinding, ...] = ()


@dataclass(frozen=True)
class FilledTemplate:
    """A config without placeholders, not parsed yet; `remote` are checks that need the network."""

    config: dict[str, Any]
    warnings: tuple[ConfigFinding, ...] = ()
    remote: tuple[RemoteCheck, ...] = ()


def read_template(
    config: object,
    inputs: object,
    default_values: object,
    *,
    limits: ConfigLimits | None = None,
    max_steps: int = MAX_STEPS,
) -> ParsedTemplate:
    """Return a new template, after a trial with its own default values."""
    budget = WorkBudget(max_steps)
    template = open_template(config, inputs, default_values)
    defaults = template.default_values.thaw()
    issues = list(
        check_data(template.inputs, defaults, root="default_values", with_presence=False).issues
    )
    values, faults = fill_defaults(defaults, template.names, inputs=template.inputs, budget=budget)
    issues += faults
    issues += liquid_errors(template.config.thaw(), template.names, "config")
    if issues:
        raise InvalidTemplate(issues[:MAX_FINDINGS])
    filler = TemplateFiller(template.names, budget)
    filled = filler.fill(template.config.thaw(), values, "config")
    has_all_values = template.inputs.roots <= defaults.keys()
    # The texts are valid, so further issues of these codes come from values.
    trial = [each for each in filler.issues if has_all_values or each.code not in _OF_VALUES]
    if trial:
        raise InvalidTemplate(trial)
    if not has_all_values:
        # The config can only be checked with a value for each input.
        return ParsedTemplate(template, (_not_checked(template.inputs.roots - defaults.keys()),))
    options = ReadOptions(limits=limits or ConfigLimits(), is_filled_template=True)
    try:
        warnings = read_config(filled, options).warnings
    except InvalidConfig as error:
        raise InvalidTemplate(_below_config(error.issues)) from None
    return ParsedTemplate(template, tuple(_below_config(warnings)))


def open_template(config: object, inputs: object, default_values: object) -> Template:
    """Return a stored template; only its structure is checked."""
    try:
        parsed = parse_config(config)
    except InvalidConfig as error:
        raise InvalidTemplate(_below_config(error.issues)) from None
    read, issues = read_inputs(inputs)
    if isinstance(default_values, list) and not default_values:
        default_values = {}
    if not isinstance(default_values, Mapping):
        issues.append(
            ConfigFinding("default_values", "type", "must be an object of values by name")
        )
        default_values = {}
    for name, value in (("config", parsed), ("default_values", default_values)):
        problem = json_problem(value)
        if problem:
            issues.append(ConfigFinding(name, "type", problem))
    if issues:
        raise InvalidTemplate(issues)
    return Template(FrozenJson.of(parsed), read, FrozenJson.of(default_values))


def fill_template(
    template: Template, data: object, *, max_steps: int = MAX_STEPS
) -> FilledTemplate:
    """Return the config filled with a caller's data.

    Rules check the caller's data only; then absent values are replaced by default values.
    """
    if isinstance(data, list) and not data:
        data = {}
    if not isinstance(data, Mapping):
        raise InvalidData([ConfigFinding("data", "type", "must be an object of values by name")])
    problem = json_problem(data)
    if problem:
        raise InvalidData([ConfigFinding("data", "type", problem)])
    checked = check_data(template.inputs, data)
    if checked.issues:
        raise InvalidData(_with_likely_names(checked.issues, data, template.names))
    given = {name: value for name, value in data.items() if value is not None}
    budget, defaults = WorkBudget(max_steps), template.default_values.thaw()
    values, faults = fill_defaults(
        defaults, template.names, inputs=template.inputs, given=given, budget=budget
    )
    filler = TemplateFiller(template.names, budget)
    config = filler.fill(template.config.thaw(), values)
    if faults or filler.issues:
        raise InvalidConfig([*faults, *filler.issues])
    return FilledTemplate(
        config, tuple(islice(_unknown(data, template.names), MAX_FINDINGS)), checked.remote
    )


def _unknown(data: Mapping[str, Any], names: frozenset[str]) -> Iterable[ConfigFinding]:
    for name in data:
        if name not in names:
            hint = did_you_mean(str(name), names)
            shown = str(name)[:100]
            yield ConfigFinding(f"data.{shown}", "unknown_field", f"{shown} is not an input", hint)


def _not_checked(inputs: Iterable[str]) -> ConfigFinding:
    names = ", ".join(sorted(inputs))[:100]
    return ConfigFinding(
        "default_values",
        NOT_CHECKED,
        f"there is none for {names}, so mistakes in the config show only when it is filled: give"
        " one, or check the template with data",
    )


def _with_likely_names(
    issues: Iterable[ConfigFinding], data: Mapping[str, Any], names: frozenset[str]
) -> Iterator[ConfigFinding]:
    """Yield errors of data; those of a missing value name the one that was probably meant."""
    unknown = [str(name) for name in islice(data, MAX_FINDINGS) if name not in names]
    for issue in issues:
        missing = issue.path.removeprefix("data.")
        near = nearest_name(missing, unknown) if issue.code == "required" else None
        if near is None:
            yield issue
        else:
            message = f"{issue.message}; {near[:100]} is not an input: call it {missing}"
            yield replace(issue, message=message)


def _below_config(findings: Iterable[ConfigFinding]) -> list[ConfigFinding]:
    return [
        ConfigFinding(f"config.{each.path}".rstrip("."), each.code, each.message, each.hint)
        for each in findings
    ]


def _message(issues: tuple[ConfigFinding, ...]) -> str:
    more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
    return f"{issues[0].path}: {issues[0].message}{more}"


def _details(issues: tuple[ConfigFinding, ...]) -> dict[str, Any]:
    errors: dict[str, list[str]] = {}
    for issue in issues:
        errors.setdefault(issue.path, []).append(issue.message)
    return {
        "field": issues[0].path,
        "errors": errors,
        "issues": [issue.as_json() for issue in issues],
    }
