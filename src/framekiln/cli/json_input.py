"""JSON that commands read: from an option, a file or standard input."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from framekiln.kit.errors import InvalidInput, reason_of


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or on standard input if its name is `-`."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
        found = json.loads(text)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {reason_of(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} does not contain a JSON object")
    return found


_NEEDED: Final = 'needs a JSON object, such as {"title": "Hello"}'


def read_object(text: str | None, file: Path | None) -> dict[str, Any] | None:
    """Return the JSON object of `--data` or `--data-file`."""
    if text is not None and file is not None:
        raise InvalidInput("--data and --data-file cannot be combined")
    option = "--data" if file is None else f"--data-file {file}"
    try:
        if file is not None:
            text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
        found: Any = None if text is None else json.loads(text)
    except OSError as error:
        raise InvalidInput(f"cannot read {option}: {reason_of(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{option} {_NEEDED}, but is not JSON: {error}") from error
    if text is None:
        return None
    if not isinstance(found, dict):
        raise InvalidInput(f"{option} {_NEEDED}")
    return found
