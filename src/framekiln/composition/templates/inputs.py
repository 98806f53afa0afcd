"""The inputs of a template: their rules, and the validation of data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from framekiln.composition.layers.findings import ConfigFinding
from framekiln.composition.templates.patterns import PatternBudget
from framekiln.composition.templates.rule_subject import RuleSubject, subjects
from framekiln.composition.templates.rules import Rule, UnknownRule, parse_rules

MAX_INPUTS: Final = 200
_REMOTE: Final = ("active_url", "media", "duration_max")
_NUMERIC: Final = ("numeric", "integer", "decimal", "multiple_of")


@dataclass(frozen=True)
class RemoteCheck:
    """A rule that needs a network request to check."""

    path: str
    """Of the value: `data.source`."""
    url: str
    rule: str
    """`active_url`, `media` or `duration_max`."""
    arguments: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "RemoteCheck":
        """Return the check that `asdict` wrote."""
        return cls(value["path"], value["url"], value["rule"], tuple(value["arguments"]))


@dataclass(frozen=True)
class Inputs:
    """Rules by name; names may be dotted, with `*` for the items of lists."""

    rules: Mapping[str, tuple[Rule, ...]]

    @property
    def roots(self) -> frozenset[str]:
        """The names that a config may use."""
        return frozenset(name.partition(".")[0] for name in self.rules)


@dataclass(frozen=True)
class DataCheck:
    """The errors of data, and the checks that need the network."""

    issues: tuple[ConfigFinding, ...] = ()
    remote: tuple[RemoteCheck, ...] = ()


def read_inputs(value: object) -> tuple[Inputs, list[ConfigFinding]]:
    """Return the inputs of a template and all errors in them."""
    if isinstance(value, list) and not value:
        value = {}
    if not isinstance(value, Mapping):
        return Inputs({}), [ConfigFinding("inputs", "type", "must be an object of rules by name")]
    if len(value) > MAX_INPUTS:
        return Inputs({}), [
            ConfigFinding("inputs", "out_of_range", f"has more than {MAX_INPUTS} names")
        ]
    patterns = PatternBudget()
    rules: dict[str, tuple[Rule, ...]] = {}
    issues: list[ConfigFinding] = []
    for name, words in value.items():
        try:
            rules[str(name)] = parse_rules(words, patterns)
        except UnknownRule as error:
            path = f"inputs.{str(name)[:100]}"
            issues.append(ConfigFinding(path, "unknown_rule", str(error), error.hint))
    return Inputs(rules), issues


def check_data(
    inputs: Inputs, data: Mapping[str, Any], *, root: str = "data", with_presence: bool = True
) -> DataCheck:
    """Return the errors of data; presence rules may be skipped, for defaults."""
    issues: list[ConfigFinding] = []
    remote: list[RemoteCheck] = []
    for name, rules in inputs.rules.items():
        for subject in subjects(name, data):
            found = _check_one(subject, rules, root, with_presence=with_presence)
            issues += found.issues
            remote += found.remote
    return DataCheck(tuple(issues), tuple(remote))


def _check_one(
    subject: RuleSubject, rules: tuple[Rule, ...], root: str, *, with_presence: bool
) -> DataCheck:
    names = {rule.name for rule in rules}
    subject = replace(subject, counts_as_number=not names.isdisjoint(_NUMERIC))
    path = f"{root}.{subject.path}"
    failed: list[ConfigFinding] = []
    for rule in rules:
        if not _runs(rule, subject, names, with_presence=with_presence):
            continue
        if not rule.rule_type.check(subject, rule.arguments):
            message = f"{subject.path} {rule.message_about(subject)}"
            failed.append(ConfigFinding(path, rule.rule_type.code, message))
            if "bail" in names or rule.rule_type.is_presence:
                break
    if failed or not subject.is_filled:
        return DataCheck(tuple(failed))
    remote = [
        RemoteCheck(path, str(subject.value).strip(), rule.name, rule.arguments)
        for rule in rules
        if rule.name in _REMOTE
    ]
    return DataCheck((), tuple(remote))


def _runs(rule: Rule, subject: RuleSubject, names: set[str], *, with_presence: bool) -> bool:
    if rule.rule_type.is_presence:
        return with_presence and not ("sometimes" in names and not subject.is_present)
    if not subject.is_present:
        return False
    if subject.value is None:
        # Null without `nullable` violates any other rule, unless a presence error was reported.
        return "nullable" not in names
    return not (isinstance(subject.value, str) and not subject.value.strip())
