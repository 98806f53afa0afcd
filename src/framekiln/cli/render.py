"""`framekiln render`: renders a composition without a server or a database."""

import re
import signal
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from framekiln.capture.browser import open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.network import PAGE_URL
from framekiln.cli import layer_configs
from framekiln.cli.compositions import read_composition, read_data
from framekiln.cli.confinement import require_confinement
from framekiln.cli.environment import load_settings
from framekiln.cli.output import JsonFlag, write_json
from framekiln.cli.output_formats import format_of, read_time, still_format
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.assets import Assets, FetchedAssets
from framekiln.engine.film import FilmResult, make_film, make_still
from framekiln.engine.film_order import (
    MAX_DURATION_MS,
    MAX_SIDE_PX,
    FilmLimits,
    FilmOrder,
    PageMethod,
    StillMoment,
)
from framekiln.engine.site import PageFolder, SiteAssets
from framekiln.kit.errors import CompositionFailed, InvalidInput
from framekiln.kit.fetch import GuardedFetcher
from framekiln.media.images.still_formats import StillFormat
from framekiln.playback.page_player import PlayerWithoutService
from framekiln.settings import Settings
from framekiln.timeline import exact_rate

Side = Annotated[int | None, typer.Option(min=2, max=MAX_SIDE_PX, help="Size in pixels.")]
# Replaces names of request fields in messages of the engine, but not attributes of a page, and the
# address of the composition's folder.
_OPTIONS = (
    (re.compile(re.escape(PAGE_URL)), ""),
    (re.compile(r"(?<![\w-])duration_ms(?!\w)"), "--duration-ms"),
    (re.compile(r"ask for width and height"), "give --width and --height"),
)


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
    width: Side = None,
    height: Side = None,
    fps: Annotated[
        str | None, typer.Option(help="Frame rate: a number, or a fraction such as 30000/1001.")
    ] = None,
    duration_ms: Annotated[
        int | None, typer.Option(min=1, max=MAX_DURATION_MS, help="The duration of the film.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="The time of a still: milliseconds, or 1.5s; default 0.")
    ] = None,
    transparent: Annotated[
        bool,
        typer.Option("--transparent", help="Keep the background of a .png or .webp transparent."),
    ] = False,
    preset: Annotated[
        RenderPreset,
        typer.Option(help="Encoding effort: faster, or smaller files of better quality."),
    ] = RenderPreset.STANDARD,
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
    settings = load_settings()
    # SIGTERM is handled like Ctrl-C, so that no incomplete files are left.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if "-" == str(composition) == str(data_file):
        raise InvalidInput("standard input is either the page or the data, not both")
    format_ = format_of(output)
    still = still_format(format_, is_transparent=transparent)
    if still is not None and preset is not RenderPreset.STANDARD:
        raise InvalidInput("--preset works only for films: a still has no preset")
    if not output.absolute().parent.is_dir():
        raise InvalidInput(f"--output: there is no folder {output.absolute().parent}")
    order = FilmOrder(
        width_px=_side("--width", width, is_film=still is None),
        height_px=_side("--height", height, is_film=still is None),
        fps=None if fps is None else _rate(fps),
        duration_ms=duration_ms,
        still=_moment(at, still, duration_ms=duration_ms, is_transparent=transparent),
        container=format_ if still is None else "mp4",
        preset=preset,
        data=read_data(data, data_file),
        page_method=PageMethod(settings.page_method),
    )
    require_confinement(settings)
    with TemporaryDirectory(prefix="framekiln-assets-") as folder:
        order, warnings = _with_composition(order, composition, settings, scratch=Path(folder))
        film = _make(order, output, settings, still=still, quiet=as_json)
    warnings = (*warnings, *film.record.warnings)
    _show(film, output, order.still, warnings, as_json=as_json)


def _with_composition(
    order: FilmOrder, named: Path, settings: Settings, *, scratch: Path
) -> tuple[FilmOrder, tuple[str, ...]]:
    """Return the order with what is named, and warnings about it."""
    fetcher = GuardedFetcher(settings.fetch_allow, ca_file=settings.fetch_ca_file)
    assets: Assets = FetchedAssets(fetcher, scratch)
    if named.suffix.lower() == layer_configs.ENDING:
        return _with_layers(order, named, assets)
    found = read_composition(named, scratch=scratch)
    if found.site is not None:
        assets = SiteAssets(found.site, assets)
    service = PlayerWithoutService(scratch)
    return replace(order, html=found.html, site=found.site, assets=assets, service=service), ()


def _with_layers(
    order: FilmOrder, named: Path, assets: Assets
) -> tuple[FilmOrder, tuple[str, ...]]:
    """Return the order for a layer config, which has its own size, frame rate and length."""
    fields = {
        "--width": (order.width_px, "dimensions"),
        "--height": (order.height_px, "dimensions"),
        "--fps": (order.fps, "fps"),
        "--duration-ms": (order.duration_ms, "duration"),
    }
    for option, (value, field) in fields.items():
        if value is not None:
            raise InvalidInput(f"{option} works only for pages: set {field} in {named}")
    moment = order.still
    read = layer_configs.read_layer_config(
        named,
        data=order.data,
        extension=order.container if moment is None else "png",
        at_ms=None if moment is None else moment.at_ms,
    )
    config = read.config
    if order.preset is not RenderPreset.STANDARD:
        config = replace(config, preset=order.preset)
    folder = PageFolder(named.absolute().parent, page="")
    order = replace(order, layers=config, data=None, assets=SiteAssets(folder, assets))
    return order, tuple(f"{each.path}: {each.message}" for each in read.warnings)


def _make(
    order: FilmOrder, output: Path, settings: Settings, *, still: StillFormat | None, quiet: bool
) -> FilmResult:
    """Write a temporary file next to the output and rename it, so that it appears complete."""
    limits = FilmLimits.of(settings)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=console, disable=quiet) as bar,
        NamedTemporaryFile(dir=output.absolute().parent, prefix=f".{output.name}.") as beside,
        open_browser(limits=BrowserLimits.of(settings)) as browser,
    ):
        task = bar.add_task("rendering", total=None if still is None else 1)

        def report(done: int, count: int) -> None:
            bar.update(task, completed=done, total=count)

        unfinished = Path(beside.name)
        try:
            if still is None:
                film = make_film(order, browser, unfinished, limits=limits, report=report)
            else:
                film = make_still(order, browser, unfinished, still, limits=limits)
                report(1, 1)
        except CompositionFailed as error:
            raise _in_options(error) from error
        finished = unfinished.with_name(f"{unfinished.name}.whole")
        finished.hardlink_to(unfinished)
        finished.chmod(0o644)
        finished.replace(output)
    return film


def _show(
    film: FilmResult,
    output: Path,
    moment: StillMoment | None,
    warnings: Sequence[str],
    *,
    as_json: bool,
) -> None:
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
    size, timeline = film.plan.size, film.plan.timeline
    length = {"frames": timeline.frame_count, "duration_ms": timeline.duration_ms}
    facts: dict[str, Any] = {
        "output": str(output),
        "width": size.width_px,
        "height": size.height_px,
        "fps": str(timeline.fps),
        **(length if moment is None else {"at_ms": moment.at_ms}),
        "grabbing": film.record.grabbing,
        "fallback_reason": film.record.fallback_reason,
        "composed_frames": film.record.composed_frames,
        "filmed_reason": film.record.filmed_reason,
        "warnings": list(warnings),
        "missing_confinement": list(film.record.missing_confinement),
    }
    if as_json:
        write_json(facts)
    elif moment is None:
        typer.echo(
            f"{output}: {timeline.frame_count} frames, {size.width_px}x{size.height_px},"
            f" {timeline.fps} fps"
        )
    else:
        typer.echo(f"{output}: {size.width_px}x{size.height_px}, at {moment.at_ms} ms")


def _moment(
    at: str | None, still: StillFormat | None, *, duration_ms: int | None, is_transparent: bool
) -> StillMoment | None:
    if still is None:
        if at is not None:
            raise InvalidInput(
                "--at works only for stills: --output must end in .png, .jpg or .webp"
            )
        return None
    if duration_ms is not None:
        raise InvalidInput("--duration-ms works only for films: use --at for the time of a still")
    return StillMoment(0 if at is None else read_time(at), is_transparent)


def _in_options(error: CompositionFailed) -> CompositionFailed:
    """Return the error with the names of the command's options."""
    message = error.message
    for field, option in _OPTIONS:
        message = field.sub(option, message)
    return type(error)(message, **error.details)


def _side(option: str, value: int | None, *, is_film: bool) -> int | None:
    if is_film and value is not None and value % 2:
        raise InvalidInput(f"{option} {value} is odd: films need even sizes")
    return value


def _rate(text: str) -> Fraction:
    try:
        rate = Fraction(text) if "/" in text else exact_rate(float(text))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidInput(f"--fps {text!r} is neither a number nor a fraction") from error
    if not 1 <= rate <= 120:
        raise InvalidInput(f"--fps {text}: must be 1 to 120")
    return rate
