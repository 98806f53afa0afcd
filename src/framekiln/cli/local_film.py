"""Makes the film or the still of `framekiln render`, in this process and as its user."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from framekiln.capture.browser import open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.network import PAGE_URL
from framekiln.cli import layer_configs
from framekiln.cli.compositions import Composition, read_composition
from framekiln.cli.confinement import require_confinement
from framekiln.cli.film_request import FilmRequest
from framekiln.cli.output_formats import still_format
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.assets import Assets, FetchedAssets
from framekiln.engine.film import FilmResult, make_film, make_still
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod, StillMoment
from framekiln.engine.site import PageFolder, SiteAssets
from framekiln.kit.errors import CompositionFailed, InvalidInput
from framekiln.kit.fetch import GuardedFetcher
from framekiln.playback.page_player import PlayerWithoutService
from framekiln.settings import Settings

# Replaces names of request fields in messages of the engine, but not attributes of a page, and the
# address of the composition's folder.
_OPTIONS: Final = (
    (re.compile(re.escape(PAGE_URL)), ""),
    (re.compile(r"(?<![\w-])duration_ms(?!\w)"), "--duration-ms"),
    (re.compile(r"ask for width and height"), "give --width and --height"),
)


def make_local_film(
    request: FilmRequest, path: Path, settings: Settings, *, quiet: bool
) -> dict[str, Any]:
    """Write the film or the still to `path` and return its facts, as JSON values."""
    require_confinement(settings)
    at_ms = request.at_ms
    order = FilmOrder(
        width_px=request.width_px,
        height_px=request.height_px,
        fps=request.fps,
        duration_ms=request.duration_ms,
        still=None if at_ms is None else StillMoment(at_ms, request.is_transparent),
        container=request.format if at_ms is None else "mp4",
        preset=request.preset,
        data=request.data,
        page_method=PageMethod(settings.page_method),
    )
    with TemporaryDirectory(prefix="framekiln-assets-") as folder:
        order, warnings = _with_composition(order, request, settings, scratch=Path(folder))
        film = _make(order, path, request, settings, quiet=quiet)
    return _facts(film, at_ms, (*warnings, *film.record.warnings))


def _with_composition(
    order: FilmOrder, request: FilmRequest, settings: Settings, *, scratch: Path
) -> tuple[FilmOrder, tuple[str, ...]]:
    """Return the order with what is named, and warnings about it."""
    fetcher = GuardedFetcher(settings.fetch_allow, ca_file=settings.fetch_ca_file)
    assets: Assets = FetchedAssets(fetcher, scratch)
    named = request.composition
    if request.page is not None:
        found = Composition(request.page, None)
    elif named.suffix.lower() == layer_configs.ENDING:
        return _with_layers(order, named, assets)
    else:
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
    order: FilmOrder, path: Path, request: FilmRequest, settings: Settings, *, quiet: bool
) -> FilmResult:
    limits = FilmLimits.of(settings)
    still = still_format(request.format, is_transparent=request.is_transparent)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=console, disable=quiet) as bar,
        open_browser(limits=BrowserLimits.of(settings)) as browser,
    ):
        task = bar.add_task("rendering", total=None if still is None else 1)

        def report(done: int, count: int) -> None:
            bar.update(task, completed=done, total=count)

        try:
            if still is None:
                return make_film(order, browser, path, limits=limits, report=report)
            film = make_still(order, browser, path, still, limits=limits)
        except CompositionFailed as error:
            raise _in_options(error) from error
        report(1, 1)
        return film


def _facts(film: FilmResult, at_ms: int | None, warnings: Sequence[str]) -> dict[str, Any]:
    size, timeline = film.plan.size, film.plan.timeline
    length = {"frames": timeline.frame_count, "duration_ms": timeline.duration_ms}
    return {
        "width": size.width_px,
        "height": size.height_px,
        "fps": str(timeline.fps),
        **(length if at_ms is None else {"at_ms": at_ms}),
        "grabbing": film.record.grabbing,
        "fallback_reason": film.record.fallback_reason,
        "composed_frames": film.record.composed_frames,
        "filmed_reason": film.record.filmed_reason,
        "warnings": list(warnings),
        "missing_confinement": list(film.record.missing_confinement),
    }


def _in_options(error: CompositionFailed) -> CompositionFailed:
    """Return the error with the names of the command's options."""
    message = error.message
    for field, option in _OPTIONS:
        message = field.sub(option, message)
    return type(error)(message, **error.details)
