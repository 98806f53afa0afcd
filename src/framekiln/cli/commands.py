"""Imports commands when they are run: rendering a page needs no database driver.

The list of commands is shown without importing any, so their help texts are repeated here.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand
from typer.main import get_command

from framekiln.cli.output import ErrorReportingGroup
from framekiln.kit.garbage import uncollected_imports


class CommandEntry(NamedTuple):
    """The module of a command, and its help text."""

    target: str
    """A function is a single command; `app` is a group of commands."""
    help: str
    """Equal to the help text of the command itself; a test compares them."""


COMMANDS: Final = {
    "serve": CommandEntry(
        "serve:serve", "Run everything on this machine: database, api and workers."
    ),
    "render": CommandEntry(
        "render:render",
        "Render a page, folder, bundle or layer config; options override the page.",
    ),
    "preview": CommandEntry(
        "preview:preview",
        "Show a page, folder, bundle or layer config in the browser while you write it.",
    ),
    "upload": CommandEntry(
        "upload:upload",
        "Upload a file to the service at FRAMEKILN_BASE_URL; run it again to resume it.",
    ),
    "renders": CommandEntry(
        "renders:app", "Create, follow and download renders of HTML pages on the service."
    ),
    "videos": CommandEntry("videos:app", "Create, follow and download videos from layer configs."),
    "templates": CommandEntry("templates:app", "Store templates, and make videos of them."),
    "bulks": CommandEntry("bulks:app", "Make a video for each row of a table."),
    "files": CommandEntry("files:app", "List, follow, download and delete files."),
    "transcriptions": CommandEntry(
        "transcriptions:app", "Transcribe files, and download text and captions."
    ),
    "pipelines": CommandEntry("pipelines:app", "Manage pipelines, their versions and endpoints."),
    "runs": CommandEntry("runs:app", "Start, follow, cancel and retry runs of pipelines."),
    "reviews": CommandEntry(
        "reviews:app", "List, approve and reject review tasks, and share them by link."
    ),
    "batches": CommandEntry("batches:app", "Run a pipeline over many files."),
    "link": CommandEntry("links:link", "Make a signed link to media of the service."),
    "links": CommandEntry("links:app", "List and revoke signed links."),
    "mcp": CommandEntry(
        "mcp_server:mcp", "Offer the service to agents as tools (Model Context Protocol)."
    ),
    "webhooks": CommandEntry("webhooks:app", "Manage webhooks and their deliveries."),
    "completion": CommandEntry(
        "completion:completion",
        'Write the completion script of a shell: eval "$(framekiln completion bash)".',
    ),
    "doctor": CommandEntry(
        "doctor:doctor", "Check programs, fonts, sandbox, data folder, port and database."
    ),
    "api": CommandEntry("processes:api", "Run only the HTTP api."),
    "worker": CommandEntry("processes:worker", "Run a worker for some queues."),
    "migrate": CommandEntry(
        "processes:migrate", "Apply the migrations of this version to the database."
    ),
    "keys": CommandEntry("keys:app", "Create, list, rotate and revoke API keys."),
    "orgs": CommandEntry("orgs:app", "Manage organizations and their quotas."),
    "users": CommandEntry("users:app", "Manage users and their passwords."),
    "jobs": CommandEntry("jobs:app", "List, retry and cancel jobs."),
}


class LazyCommandGroup(ErrorReportingGroup):
    """The commands of `framekiln`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # For the list of commands only; these cannot be run.
        self.commands = {
            name: TyperCommand(name, help=listed.help) for name, listed in COMMANDS.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command to run."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name and listed else None, rest


def load_command(name: str) -> Any:
    """Import one command."""
    module, _, attribute = COMMANDS[name].target.partition(":")
    found = getattr(_import(f"framekiln.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command = get_command(found)
    else:
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        command = get_command(alone)
    command.name = name
    return command


def _import(name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    with uncollected_imports():
        return import_module(name)
