"""`framekiln preview`: shows a composition in the browser, without a service or a database."""

import asyncio
import json
import os
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import uvicorn

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.cli import layer_configs
from framekiln.cli.compositions import LAYER_CONFIG_ENDING
from framekiln.cli.confinement import require_confinement
from framekiln.cli.environment import load_settings
from framekiln.cli.film_account import film_account
from framekiln.cli.film_options import (
    DurationOption,
    RateOption,
    SideOption,
    even_side,
    read_rate,
)
from framekiln.cli.film_orders import with_composition
from framekiln.cli.json_input import read_object
from framekiln.cli.port import PortUnavailable, Socket, listen
from framekiln.cli.signals import on_stop_signal
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod
from framekiln.engine.page.render_data import render_data_json
from framekiln.kit.account import AccountUnusable
from framekiln.kit.errors import InvalidInput, reason_of
from framekiln.preview.model import DataForm, FilmChoice, JsonObject, PreviewInput
from framekiln.preview.server import HOST, PreviewAccess, make_app
from framekiln.preview.service import Preview, PreviewSettings
from framekiln.preview.watched_files import WatchedFiles
from framekiln.settings import Settings

_USUAL_PORT: Final = 8600
_LAST_ANSWERS_WITHIN_S: Final = 2
# Chromium, children and threads end within this; nobody else would kill them.
_END_WITHIN_S: Final = 30


def preview(
    composition: Annotated[
        Path,
        typer.Argument(
            help="An HTML page, a folder with an index.html, a bundle (.tar.gz, .zip), or a layer"
            " config or template (.json).",
            exists=True,
        ),
    ],
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help=f"The port; {_USUAL_PORT} or a free one by default."),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address, but open no browser.")
    ] = False,
    output_folder: Annotated[
        Path | None,
        typer.Option(
            help="Where films go that you render; the folder of the composition by default.",
            file_okay=False,
            exists=True,
            writable=True,
        ),
    ] = None,
    width: SideOption = None,
    height: SideOption = None,
    fps: RateOption = None,
    duration_ms: DurationOption = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="A JSON object: the page reads it as EF_RENDER_DATA, a template is filled with it."
        ),
    ] = None,
    data_file: Annotated[Path | None, typer.Option(help="The same from a file.")] = None,
) -> None:
    """Show a page, folder, bundle or layer config in the browser while you write it."""
    settings = load_settings()
    order = FilmOrder(
        width_px=even_side("--width", width, is_film=True),
        height_px=even_side("--height", height, is_film=True),
        fps=None if fps is None else read_rate(fps),
        duration_ms=duration_ms,
    )
    given = read_object(data, data_file)
    if not film_account(settings).is_ours:
        raise AccountUnusable(
            "root shows no previews: start it as an ordinary user, or accept the risk with"
            " FRAMEKILN_RUN_AS=0 and FRAMEKILN_ALLOW_UNCONFINED=1"
        )
    require_confinement(settings)
    reader = LocalComposition(composition, order, settings)
    beside = composition if composition.is_dir() else composition.absolute().parent
    how = PreviewSettings(
        output_folder=(output_folder or beside).absolute(),
        limits=FilmLimits.of(settings),
        browser_limits=BrowserLimits.of(settings),
        page_method=PageMethod(settings.page_method),
    )
    sockets = _listen(port)
    asyncio.run(_serve(reader, how, given, sockets, opens_browser=not no_open))


@dataclass
class LocalComposition:
    """A composition in the local file system."""

    path: Path
    order: FilmOrder
    settings: Settings
    files: WatchedFiles = field(default_factory=WatchedFiles)

    @property
    def name(self) -> str:
        """The name of the file; of a folder, its own."""
        return self.path.absolute().name if self.path.is_dir() else self.path.name

    def read(self, data: JsonObject | None, choice: FilmChoice, scratch: Path) -> PreviewInput:
        """Read it from its files."""
        order = replace(
            self.order,
            data=None if data is None else render_data_json(data),
            container=choice.container,
            preset=choice.preset,
        )
        return PreviewInput(
            *with_composition(order, self.path, self.settings, scratch=scratch, files=self.files)
        )

    def form(self, data: JsonObject | None) -> DataForm:
        """Return the form of its data, also if it cannot be opened with these."""
        self.files.add(self.path / "index.html" if self.path.is_dir() else self.path)
        if self.path.suffix.lower() != LAYER_CONFIG_ENDING:
            return DataForm("page", {} if data is None else data)
        posted = _read_config(self.path)
        if not layer_configs.is_template(posted):
            return DataForm("config")
        defaults, inputs = posted.get("default_values"), posted.get("inputs")
        shown = {**(defaults if isinstance(defaults, dict) else {}), **(data or {})}
        return DataForm("template", shown, inputs if isinstance(inputs, dict) else {})

    def has_changed(self) -> bool:
        """Whether one of its files has changed since the last call, or since it was used."""
        return self.files.has_changed()


class PreviewServer(uvicorn.Server):
    """uvicorn without its signal handling, which would skip the cleanup."""

    def __init__(self, config: uvicorn.Config, opened: Preview) -> None:
        super().__init__(config)
        self._preview = opened

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let our own handler stop the server."""
        on_stop_signal(self._end, end_within_s=_END_WITHIN_S)
        yield

    def _end(self, _number: Any) -> None:
        # Open event streams would delay the end.
        self._preview.events.close()
        self.should_exit = True


async def _serve(
    reader: LocalComposition,
    settings: PreviewSettings,
    data: JsonObject | None,
    sockets: list[Socket],
    *,
    opens_browser: bool,
) -> None:
    opened = Preview(reader, settings, data)
    port = sockets[0].getsockname()[1]
    access = PreviewAccess(port)
    config = uvicorn.Config(
        make_app(opened, port, access),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_LAST_ANSWERS_WITHIN_S,
    )
    typer.echo(f"{reader.name}: {access.url} (Ctrl-C ends)", err=True)
    if opens_browser and _has_display():
        await asyncio.to_thread(webbrowser.open, access.url)
    starting = asyncio.create_task(opened.start())
    try:
        await PreviewServer(config, opened).serve(sockets)
    finally:
        starting.cancel()
        await opened.close()


def _listen(port: int | None) -> list[Socket]:
    try:
        return listen(HOST, _USUAL_PORT if port is None else port)
    except PortUnavailable as error:
        if port is None:
            return listen(HOST, 0)
        raise PortUnavailable(f"--port: cannot listen on port {port}: give another") from error


def _has_display() -> bool:
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in names)


def _read_config(path: Path) -> dict[str, Any]:
    """Return the JSON of a config; an error says in which line."""
    try:
        found = json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{path.name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            file=path.name,
            line=error.lineno,
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cannot read {path.name}: {reason_of(error)}") from error
    return found if isinstance(found, dict) else {}
