"""The work that filling a template may take, counted in steps and not in time.

The same template and data take the same steps everywhere. A step is about one character that is
parsed, written or given to a filter; each iteration of a loop costs as many as its text is long.
"""

from framekiln.composition.layers.findings import ConfigFinding
from framekiln.kit.errors import InvalidInput


class TemplateTooCostly(InvalidInput):
    """Filling the template takes more steps than allowed."""

    @classmethod
    def at(cls, path: str, steps: int) -> "TemplateTooCostly":
        """Return the error for the text at `path`."""
        message = (
            f"filling the template takes more than {steps} steps: use shorter loops, texts or lists"
        )
        issue = ConfigFinding(path, "out_of_range", message)
        return cls(
            f"{path}: {message}",
            field=path,
            errors={path: [message]},
            issues=[issue.as_json()],
        )


class BudgetExceeded(Exception):
    """No steps are left; the filler adds where."""


class WorkBudget:
    """The steps that are left for one template."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self._left = steps

    def spend(self, steps: int) -> None:
        """Count steps before they are done; raise `BudgetExceeded` if there are too many."""
        self._left -= steps
        if self._left < 0:
            raise BudgetExceeded
