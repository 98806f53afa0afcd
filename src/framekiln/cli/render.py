"""`framekiln render`: renders a composition without a server or a database."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any

import typer

from framekiln.cli.environment import load_settings_to_log_rarely
from framekiln.cli.film_account import film_account, make_film_as
from framekiln.cli.film_options import (
    AtOption,
    DurationOption,
    PresetOption,
    RateOption,
    SideOption,
    TransparentFlag,
    even_side,
    read_rate,
)
from framekiln.cli.film_request import FilmRequest, read_data
from framekiln.cli.output import JsonFlag, write_json
from framekiln.cli.output_formats import format_of, still_format, still_time
from framekiln.composition.render_preset import RenderPreset
from framekiln.kit.errors import InvalidInput


def render(
    composition: Annotated[
        Path,
        typer.Argument(
            help="An HTML page, a folder with an index.html, a bundle (.tar.gz, .zip), a layer"
            " config or template (.json), or - for a page on standard input."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="The output file; its extension is the format: .mp4 .webm .mov .gif .png .jpg"
            " .webp.",
        ),
    ],
    width: SideOption = None,
    height: SideOption = None,
    fps: RateOption = None,
    duration_ms: DurationOption = None,
    at: AtOption = None,
    transparent: TransparentFlag = False,
    preset: PresetOption = RenderPreset.STANDARD,
    data: Annotated[
        str | None,
        typer.Option(
            help="A JSON object: the page reads it as EF_RENDER_DATA, a template is filled with it."
        ),
    ] = None,
    data_file: Annotated[
        Path | None, typer.Option(help="The same from a file, or - for standard input.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Render a page, folder, bundle or layer config; options override the page."""
    settings = load_settings_to_log_rarely()
    # SIGTERM is handled like Ctrl-C, so that no incomplete files are left.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if "-" == str(composition) == str(data_file):
        raise InvalidInput("standard input is either the page or the data, not both")
    format_ = format_of(output)
    still = still_format(format_, is_transparent=transparent)
    if still is not None and preset is not RenderPreset.STANDARD:
        raise InvalidInput("--preset works only for films: a still has no preset")
    if still is not None and duration_ms is not None:
        raise InvalidInput("--duration-ms works only for films: use --at for the time of a still")
    if not output.absolute().parent.is_dir():
        raise InvalidInput(f"--output: there is no folder {output.absolute().parent}")
    request = FilmRequest(
        composition=composition,
        page=_typed_page() if str(composition) == "-" else None,
        format=format_,
        width_px=even_side("--width", width, is_film=still is None),
        height_px=even_side("--height", height, is_film=still is None),
        fps=None if fps is None else read_rate(fps),
        duration_ms=duration_ms,
        at_ms=still_time(at, is_film=still is None),
        is_transparent=transparent,
        preset=preset,
        data=read_data(data, data_file),
    )
    account = film_account(settings)
    if account.is_ours:
        # Imported here, because root does not need it.
        from framekiln.cli.local_film import make_local_film  # noqa: PLC0415

        with _beside(output) as unfinished:
            facts = make_local_film(request, unfinished, settings, quiet=as_json)
    else:
        facts = make_film_as(account, request, output, settings, quiet=as_json)
    _show(facts, output, as_json=as_json)


@contextmanager
def _beside(output: Path) -> Iterator[Path]:
    """Provide a temporary file next to the output and rename it, so that it appears complete."""
    with NamedTemporaryFile(dir=output.absolute().parent, prefix=f".{output.name}.") as beside:
        unfinished = Path(beside.name)
        yield unfinished
        finished = unfinished.with_name(f"{unfinished.name}.whole")
        finished.hardlink_to(unfinished)
        finished.chmod(0o644)
        finished.replace(output)


def _show(facts: dict[str, Any], output: Path, *, as_json: bool) -> None:
    for warning in facts["warnings"]:
        typer.echo(f"warning: {warning}", err=True)
    size = f"{facts['width']}x{facts['height']}"
    if as_json:
        write_json({"output": str(output), **facts})
    elif "frames" in facts:
        typer.echo(f"{output}: {facts['frames']} frames, {size}, {facts['fps']} fps")
    else:
        typer.echo(f"{output}: {size}, at {facts['at_ms']} ms")


def _typed_page() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"cannot read -: {error}") from error
