"""Commands are imported when they are asked for: rendering a page needs no database driver."""

from importlib import import_module
from typing import Any, Final

import typer
from typer.main import get_command

from framekiln.cli.output import OneLineErrors

# A function is a command of its own; `app` is a group of commands.
_COMMANDS: Final = {
    "serve": "serve:serve",
    "render": "render:render",
    "upload": "upload:upload",
    "pipelines": "pipelines:app",
    "runs": "runs:app",
    "reviews": "reviews:app",
    "batches": "batches:app",
    "webhooks": "webhooks:app",
    "doctor": "doctor:doctor",
    "api": "processes:api",
    "worker": "processes:worker",
    "migrate": "processes:migrate",
    "keys": "keys:app",
    "orgs": "orgs:app",
    "users": "users:app",
    "jobs": "jobs:app",
}


class LazyCommands(OneLineErrors):
    """The commands of `framekiln`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the help text."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import one command."""
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name].split(":")
        found = getattr(import_module(f"framekiln.cli.{module}"), name)
        if isinstance(found, typer.Typer):
            command = get_command(found)
        else:
            alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            alone.command(cmd_name)(found)
            command = get_command(alone)
        command.name = cmd_name
        return command
