"""`framekiln completion`: the script with which a shell completes our commands."""

from typing import Annotated, Literal

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

Shell = Literal["bash", "zsh", "fish"]


def completion(
    shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")],
) -> None:
    """Write the completion script of a shell: eval "$(framekiln completion bash)"."""
    script = get_completion_script(
        prog_name="framekiln", complete_var="_FRAMEKILN_COMPLETE", shell=shell
    )
    typer.echo(script)
