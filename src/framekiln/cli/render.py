"""`framekiln render`: a page becomes an MP4 right here, without a server or a database."""

import signal
import sys
from fractions import Fraction
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from framekiln.capture.browser import open_browser
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json
from framekiln.engine.assets import FetchedAssets
from framekiln.engine.film import make_film
from framekiln.engine.order import LARGEST_SIDE_PX, LONGEST_MS, Film, FilmLimits, FilmOrder
from framekiln.kit.errors import InvalidInput
from framekiln.kit.fetch import GuardedFetcher
from framekiln.playback.page_player import PlayerWithoutService
from framekiln.settings import Settings
from framekiln.timeline import exact_rate

Side = Annotated[int | None, typer.Option(min=2, max=LARGEST_SIDE_PX)]


def render(
    page: Annotated[Path, typer.Argument(help="An HTML file, or - for standard input.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the MP4 goes.")],
    width: Side = None,
    height: Side = None,
    fps: Annotated[str | None, typer.Option(help="A number or a fraction: 30000/1001.")] = None,
    duration_ms: Annotated[int | None, typer.Option(min=1, max=LONGEST_MS)] = None,
    as_json: JsonFlag = False,
) -> None:
    """Render an HTML file to an MP4; what is not given comes from the page."""
    settings = load_settings()
    # A polite end is an interruption like Ctrl-C, so that nothing unfinished stays behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not output.absolute().parent.is_dir():
        raise InvalidInput(f"--output: there is no folder {output.absolute().parent}")
    with TemporaryDirectory(prefix="framekiln-assets-") as folder:
        fetcher = GuardedFetcher(settings.fetch_allow, ca_file=settings.fetch_ca_file)
        order = FilmOrder(
            html=_read(page),
            width_px=_even("--width", width),
            height_px=_even("--height", height),
            fps=None if fps is None else _rate(fps),
            duration_ms=duration_ms,
            assets=FetchedAssets(fetcher, Path(folder)),
            service=PlayerWithoutService(Path(folder)),
        )
        film = _make(order, output, settings, quiet=as_json)
    _tell(film, output, as_json=as_json)


def _make(order: FilmOrder, output: Path, settings: Settings, *, quiet: bool) -> Film:
    """Make the film beside the output and move it there, so that it appears whole or not at all."""
    limits = FilmLimits.of(settings)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=console, disable=quiet) as bar,
        NamedTemporaryFile(dir=output.absolute().parent, prefix=f".{output.name}.") as beside,
        open_browser() as browser,
    ):
        task = bar.add_task("rendering", total=None)

        def report(done: int, count: int) -> None:
            bar.update(task, completed=done, total=count)

        unfinished = Path(beside.name)
        film = make_film(order, browser, unfinished, limits=limits, report=report)
        finished = unfinished.with_name(unfinished.name + ".mp4")
        finished.hardlink_to(unfinished)
        finished.chmod(0o644)
        finished.replace(output)
    return film


def _tell(film: Film, output: Path, *, as_json: bool) -> None:
    for warning in film.warnings:
        typer.echo(f"warning: {warning}", err=True)
    facts: dict[str, Any] = {
        "output": str(output),
        "width": film.size.width_px,
        "height": film.size.height_px,
        "fps": str(film.timeline.fps),
        "frames": film.timeline.frame_count,
        "duration_ms": film.timeline.duration_ms,
        "grabbing": film.grabbing,
        "fallback_reason": film.fallback_reason,
        "warnings": list(film.warnings),
    }
    if as_json:
        write_json(facts)
        return
    typer.echo(
        f"{output}: {film.timeline.frame_count} frames, {film.size.width_px}x{film.size.height_px},"
        f" {film.timeline.fps} fps"
    )


def _read(page: Path) -> str:
    try:
        if str(page) == "-":
            return sys.stdin.buffer.read().decode()
        return page.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {page}: {error}") from error


def _even(option: str, value: int | None) -> int | None:
    if value is not None and value % 2:
        raise InvalidInput(f"{option} {value} is odd: H.264 needs even sizes")
    return value


def _rate(text: str) -> Fraction:
    try:
        rate = Fraction(text) if "/" in text else exact_rate(float(text))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidInput(f"--fps {text!r} is neither a number nor a fraction") from error
    if not 1 <= rate <= 120:
        raise InvalidInput(f"--fps {text}: 1 to 120 are possible")
    return rate
