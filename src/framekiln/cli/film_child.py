"""The process that makes the film of `framekiln render` for root (`cli/film_account`).

Reads an order from standard input and writes facts or an error to standard output, as JSON.
"""

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from framekiln.cli.account import restrict_process
from framekiln.cli.environment import load_settings_to_log_rarely
from framekiln.cli.failures import wants_traceback, was_interrupted
from framekiln.cli.film_account import described
from framekiln.cli.film_request import read_request
from framekiln.kit.errors import FramekilnError
from framekiln.kit.garbage import uncollected_imports


def main() -> None:
    """Make one film."""
    restrict_process()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Nothing else may write between the lines of the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.read())
    try:
        answer.write(json.dumps(_answer(order)))
        answer.close()
    except BaseException as error:
        if was_interrupted(error) and not wants_traceback():
            # The parent says so.
            sys.exit(1)
        raise


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    with uncollected_imports():
        from framekiln.cli.local_film import make_local_film  # noqa: PLC0415
    try:
        request = read_request(order["request"])
        path, quiet = Path(order["path"]), bool(order["quiet"])
        return {"facts": make_local_film(request, path, load_settings_to_log_rarely(), quiet=quiet)}
    except FramekilnError as error:
        if was_interrupted(error):
            raise
        if wants_traceback():
            traceback.print_exc()
        return {"error": described(error)}


if __name__ == "__main__":
    main()
