"""How the command line speaks: results on standard output, everything else on standard error.

An error that we raise on purpose is one line; a traceback is shown only to who asks for it.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from framekiln.kit.errors import FramekilnError

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Write JSON to standard output.", show_default=False)
]


class OneLineErrors(TyperGroup):
    """Runs a command and turns what went wrong into one line and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except FramekilnError as error:
            if wants_traceback():
                raise
            for warning in error.warnings:
                typer.echo(f"warning: {' '.join(warning.split())}", err=True)
            fail(error.message)
        except KeyboardInterrupt:
            if wants_traceback():
                raise
            fail("interrupted")


def wants_traceback() -> bool:
    """Whether errors are to be shown whole."""
    return os.environ.get("FRAMEKILN_DEBUG", "0") not in ("", "0")


def fail(message: str) -> None:
    """Say what is wrong and end with exit code 1."""
    one_line = " ".join(message.split())
    typer.echo(f"error: {one_line}", err=True)
    raise typer.Exit(1)


def write_line(text: str) -> None:
    """Write one line of the result."""
    typer.echo(text)


def write_json(value: Any) -> None:
    """Write the whole result as one JSON document on one line."""
    typer.echo(json.dumps(value, default=_json_text, ensure_ascii=False))


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows under their column names; cells are plain text, never markup."""
    # Every command imports this module, and few write a table.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    console = Console(file=sys.stdout)
    # Piped to another program, a row must not be folded to the width of no terminal.
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
