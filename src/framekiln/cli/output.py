"""The output of commands: results on standard output, everything else on standard error.

A known error is one line, or with `--json` an object like those of the HTTP API. Tracebacks are
shown only with `--debug`.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from framekiln.cli.failures import wants_traceback, was_interrupted
from framekiln.kit.errors import Blame, FramekilnError

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Write JSON to standard output.", show_default=False)
]


class Interrupted(FramekilnError):
    """The command was interrupted by Ctrl-C or a signal."""

    code = "interrupted"
    blame = Blame.CALLER


class ErrorReportingGroup(TyperGroup):
    """Runs a command and turns an error into one line, or one object, and an exit code."""

    wants_json = False

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line; unknown arguments end with exit code 2."""
        words = sys.argv[1:] if args is None else list(args)
        self.wants_json = "--json" in words
        is_alone = extra.pop("standalone_mode", True)
        try:
            code = super().main(words, standalone_mode=False, **extra)
        except typer.TyperException as error:
            if not is_alone:
                raise
            self._show_usage_error(error)
            code = error.exit_code
        if not is_alone:
            return code
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if wants_traceback():
                raise
            if was_interrupted(error):
                self._fail(Interrupted("interrupted"))
            if not isinstance(error, FramekilnError):
                raise
            self._fail(error)

    def _fail(self, error: FramekilnError) -> NoReturn:
        if self.wants_json:
            reported = {"error": error.code, "message": error.message, **error.details}
            write_json(
                {**reported, **({"warnings": error.warnings} if error.warnings else {})}, err=True
            )
            raise typer.Exit(1)
        for warning in error.warnings:
            typer.echo(f"warning: {' '.join(warning.split())}", err=True)
        for line in _error_lines(error):
            typer.echo(f"error: {' '.join(line.split())}", err=True)
        raise typer.Exit(1)

    def _show_usage_error(self, error: typer.TyperException) -> None:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            # Its message is the help text.
            typer.echo(error.message, err=True)
            return
        reported = _usage_problem(error)
        if self.wants_json:
            write_json({"error": "invalid_usage", "message": reported}, err=True)
            return
        help_hint = f" See {context.command_path} --help." if context else ""
        typer.echo(f"error: {reported}{help_hint}", err=True)


def _error_lines(error: FramekilnError) -> list[str]:
    """Return one line for each issue of an error, or its message."""
    issues = error.details.get("issues")
    if not isinstance(issues, list) or not issues:
        return [error.message]
    hints = [f": {issue['hint']}" if issue.get("hint") else "" for issue in issues]
    if len(issues) == 1:
        return [error.message + hints[0]]
    return [
        f"{issue['path']}: {issue['message']}{hint}"
        for issue, hint in zip(issues, hints, strict=True)
    ]


def _usage_problem(error: typer.TyperException) -> str:
    """Return the error message, with a suggestion for a similar option."""
    options: Sequence[str] = getattr(error, "possibilities", None) or ()
    if options:
        return f"{error.message}. Did you mean {' or '.join(options)}?"
    message = " ".join(error.format_message().split()).replace(": Input should ", ": must ")
    return message if message.endswith((".", "?")) else f"{message}."


def write_line(text: str) -> None:
    """Write one line of the result."""
    typer.echo(text)


def write_json(value: Any, *, err: bool = False) -> None:
    """Write the whole result, or the error, as one JSON document on one line."""
    typer.echo(json.dumps(value, default=_json_text, ensure_ascii=False), err=err)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows under their column names; cells are plain text, never markup."""
    # Every command imports this module, but few write a table.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    console = Console(file=sys.stdout)
    # Rows that are piped to another program must not be wrapped.
    if not console.is_terminal:
        console.width = 1000
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    console.print(table, markup=False)


def _json_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
