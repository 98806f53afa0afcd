"""Tasks on templates for confined children.

They write their result to a file in their folder, because a filled config may be long.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from framekiln.composition.templates.template import (
    Template,
    fill_template,
    open_template,
    read_template,
)

READ_TASK: Final = f"{__name__}:read"
FILL_TASK: Final = f"{__name__}:fill"
RESULT_NAME: Final = "result.json"

Report = Callable[[dict[str, Any]], None]


def read(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    """Check a new template; return it as stored, with warnings."""
    made = read_template(args["config"], args["inputs"], args["default_values"])
    return _written(
        config=made.template.config.thaw(),
        default_values=made.template.default_values.thaw(),
        warnings=[asdict(each) for each in made.warnings],
    )


def fill(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    """Fill a stored template with data."""
    made = fill_template(_opened(args), args["data"])
    return _written(
        config=made.config,
        warnings=[asdict(each) for each in made.warnings],
        remote=[asdict(each) for each in made.remote],
    )


def _written(**result: Any) -> dict[str, Any]:
    Path(RESULT_NAME).write_text(json.dumps(result))
    return {}


def _opened(args: dict[str, Any]) -> Template:
    return open_template(args["config"], args["inputs"], args["default_values"])
