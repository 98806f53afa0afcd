"""Checks all rows of a bulk before any starts; runs in a confined child.

Ten thousand rows take long, and a costly template must not stop the api.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from framekiln.composition.layers import ConfigFinding
from framekiln.composition.templates import Template, fill_template, open_template
from framekiln.kit.confined.budget import children_of
from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import InvalidInput
from framekiln.kit.json_scan import load_json, scan_json
from framekiln.videos.accepted_config import accept_config
from framekiln.videos.model import VideoRequest
from framekiln.videos.templates.model import StoredTemplate

_TASK: Final = f"{__name__}:check_rows_task"
_RESULT: Final = "findings.json"
_LIMITS: Final = ResourceLimits(cpu_s=300, memory_bytes=1 << 30, file_bytes=64 << 20, wall_s=600)
_READABLE: Final = 0o444
_MAX_ISSUES_OF_ROW: Final = 20
MAX_ISSUES: Final = 1_000
"""Of all rows; others are only counted. While the api writes them, it does nothing else."""
MAX_WARNINGS: Final = 200
"""Of all rows; the same one of several rows counts once."""
_MAX_RESULT_VALUES: Final = 10 * (MAX_ISSUES + MAX_WARNINGS)
_MAX_MESSAGE_CHARS: Final = 500


@dataclass(frozen=True)
class RowIssue:
    """What is wrong with a field of a row; rows are counted from 1."""

    row: int
    path: str
    code: str
    message: str


@dataclass(frozen=True)
class RowWarning:
    """What has no effect in a row, and perhaps in rows after it."""

    row: int
    finding: ConfigFinding

    def as_json(self) -> dict[str, Any]:
        """Return the warning as it appears in responses."""
        return {"row": self.row, **self.finding.as_json()}


@dataclass(frozen=True)
class RowFindings:
    """What is wrong with rows, and what has no effect in them."""

    issues: tuple[RowIssue, ...] = ()
    warnings: tuple[RowWarning, ...] = ()


class InvalidRows(InvalidInput):
    """Rows of a bulk that cannot become videos; `issues` has the first `MAX_ISSUES`."""

    def __init__(self, issues: Sequence[RowIssue], *, row_count: int | None = None) -> None:
        self.issues = tuple(issues[:MAX_ISSUES])
        first = self.issues[0]
        count = row_count or len({issue.row for issue in issues})
        where = f"row {first.row}" + (f", {first.path}" if first.path else "")
        rows = "1 row has" if count == 1 else f"{count} rows have"
        more = f" ({rows} errors; nothing was started)"
        super().__init__(f"{where}: {first.message}{more}")


async def require_valid_rows(
    template: StoredTemplate, rows: Sequence[Mapping[str, Any]]
) -> tuple[RowWarning, ...]:
    """Return warnings if all rows can be filled and read, or raise `InvalidRows`."""
    with open_job_folders("rows") as place, children_of(str(template.organization_id)):
        order = {
            "config": template.config,
            "inputs": template.inputs,
            "default_values": template.default_values,
            "rows": rows,
        }
        await asyncio.to_thread(_write_readable, place.source, order)
        try:
            await run_confined(
                _TASK,
                {"source": str(place.source)},
                limits=_LIMITS,
                folder=place.folder,
                readable=[place.source],
            )
        except ConfinedKilled as error:
            message = f"the rows take too much time or memory to check, send fewer: {error}"
            raise InvalidInput(message, field="rows") from error
        found = await asyncio.to_thread(_read_result, place.folder / _RESULT)
    if found["issues"]:
        issues = [RowIssue(**each) for each in found["issues"]]
        raise InvalidRows(issues, row_count=found["row_count"])
    return tuple(
        RowWarning(each["row"], ConfigFinding(**each["finding"])) for each in found["warnings"]
    )


def _write_readable(path: Path, order: Mapping[str, Any]) -> None:
    with path.open("w") as file:
        # In pieces: `dumps` lets no other thread run until it has all of it.
        json.dump(order, file)
    path.chmod(_READABLE)


def _read_result(path: Path) -> dict[str, Any]:
    raw = path.read_bytes()
    # As untrusted as the rows that the child has read.
    scan_json(raw, max_values=_MAX_RESULT_VALUES)
    found: dict[str, Any] = load_json(raw.decode())
    return found


def check_rows_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Write what is found in all rows of `source` to a file, for `run_confined`."""
    order = json.loads(Path(args["source"]).read_bytes())
    template = open_template(order["config"], order["inputs"], order["default_values"])
    found = check_rows(template, order["rows"])
    result = {
        "issues": [asdict(issue) for issue in found.issues[:MAX_ISSUES]],
        "row_count": len({issue.row for issue in found.issues}),
        "warnings": [asdict(warning) for warning in found.warnings],
    }
    Path(_RESULT).write_text(json.dumps(result))
    return {}


def check_rows(template: Template, rows: Sequence[Mapping[str, Any]]) -> RowFindings:
    """Return what is wrong with the rows, and the first of equal warnings, in order. Pure."""
    issues: list[RowIssue] = []
    warnings: dict[ConfigFinding, RowWarning] = {}
    for number, data in enumerate(rows, start=1):
        try:
            found = _warnings_of_row(template, data)
        except InvalidInput as error:
            issues += _issues_of_row(number, error)
            continue
        for each in found:
            if len(warnings) < MAX_WARNINGS:
                warnings.setdefault(each, RowWarning(number, each))
    return RowFindings(tuple(issues), tuple(warnings.values()))


def _warnings_of_row(template: Template, data: Mapping[str, Any]) -> list[ConfigFinding]:
    filled = fill_template(template, data)
    accepted = accept_config(VideoRequest(config=filled.config, is_filled_template=True))
    return [*filled.warnings, *accepted.read.warnings]


def _issues_of_row(number: int, error: InvalidInput) -> Iterator[RowIssue]:
    given = error.details.get("issues") or [
        {"path": "", "code": error.code, "message": error.message}
    ]
    for each in given[:_MAX_ISSUES_OF_ROW]:
        path, message = str(each["path"]), str(each["message"])
        yield RowIssue(number, path, str(each["code"]), message[:_MAX_MESSAGE_CHARS])
