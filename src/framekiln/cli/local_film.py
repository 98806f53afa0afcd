"""Makes the film or the still of `framekiln render`, in this process and as its user."""

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from framekiln.capture.browser import open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.network import PAGE_URL
from framekiln.cli.confinement import require_confinement
from framekiln.cli.film_orders import with_composition
from framekiln.cli.film_request import FilmRequest
from framekiln.cli.output_formats import still_format
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod, StillMoment
from framekiln.kit.errors import CompositionFailed
from framekiln.kit.garbage import uncollected_imports
from framekiln.settings import Settings

if TYPE_CHECKING:
    from framekiln.engine.film import FilmResult

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
    # The engine takes as long to import as Chromium to start, so both happen at once.
    Thread(target=_import_engine, name="import").start()
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
        order, warnings = with_composition(
            order, request.composition, settings, scratch=Path(folder), page=request.page
        )
        film = _make(order, path, request, settings, quiet=quiet)
    return _facts(film, at_ms, (*warnings, *film.record.warnings))


def _import_engine() -> None:
    with uncollected_imports():
        import_module("framekiln.engine.film")


def _make(
    order: FilmOrder, path: Path, request: FilmRequest, settings: Settings, *, quiet: bool
) -> "FilmResult":
    limits = FilmLimits.of(settings)
    still = still_format(request.format, is_transparent=request.is_transparent)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=console, disable=quiet) as bar,
        open_browser(limits=BrowserLimits.of(settings)) as browser,
    ):
        # Waits until the other thread has imported it.
        from framekiln.engine.film import make_film, make_still  # noqa: PLC0415

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


def _facts(film: "FilmResult", at_ms: int | None, warnings: Sequence[str]) -> dict[str, Any]:
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
