"""Findings of config parsing: issues, which reject the config, and warnings.

Paths are dotted, from the top of the config: `layers.2.position.x`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from framekiln.kit.errors import InvalidInput

# Limits the response for a config with many errors.
MAX_FINDINGS: Final = 200


@dataclass(frozen=True)
class ConfigFinding:
    """A finding about one field; `hint` is a suggestion."""

    path: str
    code: str
    message: str
    hint: str | None = None

    def as_json(self) -> dict[str, str]:
        """Return the finding as it appears in responses."""
        found = {"path": self.path, "code": self.code, "message": self.message}
        return found if self.hint is None else {**found, "hint": self.hint}


class InvalidConfig(InvalidInput):
    """A layer config that cannot become a video; `issues` lists every invalid field."""

    def __init__(self, issues: Iterable[ConfigFinding]) -> None:
        self.issues = tuple(issues)
        first = self.issues[0]
        more = len(self.issues) - 1
        message = f"{first.path}: {first.message}" if first.path else first.message
        super().__init__(
            message + (f" (and {more} more)" if more else ""),
            field=first.path,
            issues=[issue.as_json() for issue in self.issues],
        )


@dataclass
class ConfigFindings:
    """Collects findings during parsing."""

    issues: list[ConfigFinding] = field(default_factory=list)
    warnings: list[ConfigFinding] = field(default_factory=list)

    def add_issue(self, finding: ConfigFinding) -> None:
        """Add an issue, which rejects the config."""
        if not self.has_all_issues:
            self.issues.append(finding)

    @property
    def has_all_issues(self) -> bool:
        """Whether further issues are dropped."""
        return len(self.issues) >= MAX_FINDINGS

    @property
    def has_all_warnings(self) -> bool:
        """Whether further warnings are dropped."""
        return len(self.warnings) >= MAX_FINDINGS

    def add_warning(self, finding: ConfigFinding) -> None:
        """Add a warning for the author."""
        if not self.has_all_warnings:
            self.warnings.append(finding)

    def hint_at_warned(self, code: str, hint: str) -> None:
        """Add the hint to issues at paths that also have a warning of this code."""
        warned = {each.path for each in self.warnings if each.code == code}
        self.issues = [
            replace(each, hint=hint) if each.path in warned and each.hint is None else each
            for each in self.issues
        ]

    def raise_issues(self) -> None:
        """Raise `InvalidConfig` if there is any issue."""
        if self.issues:
            raise InvalidConfig(self.issues)


def joined_path(path: str, name: str | int) -> str:
    """Return the path of a field or item below `path`."""
    return f"{path}.{name}" if path else str(name)
