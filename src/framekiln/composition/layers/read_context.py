"""Where in a config something is being read, and what is known there."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from framekiln.composition.layers.findings import ConfigFinding, ConfigFindings, joined_path
from framekiln.composition.layers.limits import ConfigLimits


@dataclass
class ReadContext:
    """One config being read."""

    limits: ConfigLimits = field(default_factory=ConfigLimits)
    reads_numeric_strings: bool = False
    """Filled templates may hold numbers as text, and text as numbers."""
    uploads: Mapping[str, str] = field(default_factory=dict)
    """Sources that came with the request, by layer id; their addresses are ours and trusted."""
    findings: ConfigFindings = field(default_factory=ConfigFindings)
    layer_ids: Set[str] = frozenset()
    """Every id in the config, known before the first layer is read."""
    layer_count: int = 0
    transition_count: int = 0
    used_ids: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class FieldContext:
    """A path in the config being read."""

    path: str
    reading: ReadContext
    depth: int = 0
    """Of groups."""

    def child(self, name: str | int) -> "FieldContext":
        """Return the place of a field or item."""
        return FieldContext(joined_path(self.path, name), self.reading, self.depth)

    def issue(self, code: str, message: str, hint: str | None = None) -> None:
        """Refuse the config for what stands here."""
        self.reading.findings.add_issue(ConfigFinding(self.path, code, message, hint))

    def warn(self, code: str, message: str, hint: str | None = None) -> None:
        """Tell the author about what stands here."""
        self.reading.findings.add_warning(ConfigFinding(self.path, code, message, hint))
