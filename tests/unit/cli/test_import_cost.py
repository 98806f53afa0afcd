"""What a process imports: each pays for it at every start. Times are not measured here."""

import json
import subprocess
import sys

import pytest

from framekiln.cli.commands import COMMANDS, load_command

DOMAINS = (
    "framekiln.services",
    "framekiln.pipelines",
    "framekiln.renders",
    "framekiln.composition",
)
MEDIA = ("numpy", "av", "PIL", "cv2", "onnxruntime")
SERVER = ("fastapi", "uvicorn", "starlette")

_PRINT_MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)), flush=True)"
# Neither garbage collection nor an orderly exit is a subject here, and they take a third.
_BEGIN, _END = "import gc; gc.disable()", "import os; os._exit(0)"


def imported_by(statement: str) -> set[str]:
    """Return the modules that a new process has after a statement."""
    command = [sys.executable, "-P", "-c", f"{_BEGIN}\n{statement}\n{_PRINT_MODULES}\n{_END}"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(result.stdout.splitlines()[-1]))


def run(*words: str) -> str:
    """Return the statement that runs our command line with some words."""
    return (
        "from framekiln.cli.program import app\n"
        f"try: app({list(words)!r}, prog_name='framekiln')\n"
        "except SystemExit as end: assert not end.code"
    )


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        (
            run("--help"),
            ("rich", "pydantic", "structlog", "psycopg", "asyncio", "mcp", *MEDIA, *SERVER),
        ),
        (run("render", "--help"), ("psycopg", "yoyo", "liquid", "cv2", "mcp", *SERVER)),
        ("import framekiln.cli.render", ("structlog", "asyncio", "rich", *MEDIA)),
        ("import framekiln.cli.film_child", ("typer", "structlog", "psycopg", "cv2", *SERVER)),
        ("import framekiln.engine.composed.renderer", ("structlog",)),
        (run("files", "--help"), ("psycopg", "mcp", "structlog", *MEDIA, *SERVER)),
        (
            "import framekiln.cli.serve",
            ("yoyo", "procrastinate", "httpx", "liquid", *DOMAINS, *MEDIA, *SERVER),
        ),
        ("import framekiln.cli.processes", ("yoyo", *DOMAINS, *MEDIA, *SERVER)),
        # It imports framekiln.services.
        ("import framekiln.worker.loop", ("yoyo", "liquid", *MEDIA, *SERVER)),
        ("import framekiln.api.app", ("yoyo", "liquid", *MEDIA)),
        (
            "import framekiln.worker.media_handlers, framekiln.worker.speech_handlers",
            ("cv2", "onnxruntime"),
        ),
        (
            "import framekiln.kit.confined.child, framekiln.media.tracks.split",
            ("asyncio", "ssl", "structlog", "pydantic", "cv2"),
        ),
    ],
)
def test_processes_do_not_import_unneeded_modules(
    statement: str, unwanted: tuple[str, ...]
) -> None:
    assert imported_by(statement).isdisjoint(unwanted)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_matches_their_own_help(name: str) -> None:
    assert load_command(name).help == COMMANDS[name].help
