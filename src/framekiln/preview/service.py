"""The preview of one composition: versions, frames, sound and films. Used in one event loop."""

import asyncio
import itertools
import secrets
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import structlog

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.engine.film_order import FilmLimits, PageMethod
from framekiln.engine.page.render_data import render_data_json
from framekiln.kit.cancellation import run_cancellable
from framekiln.kit.errors import Conflict, FramekilnError, InvalidInput, NotFound
from framekiln.preview.events import EventFeed
from framekiln.preview.films import FilmSettings, PreviewFilm, PreviewFilms
from framekiln.preview.frame_cache import FrameCache
from framekiln.preview.frame_thread import FrameThread, Wanted
from framekiln.preview.model import (
    CompositionReader,
    DataForm,
    FilmChoice,
    FilmNotes,
    JsonObject,
    OpenedFilm,
    PreviewInput,
    PreviewProblem,
    PreviewVersion,
)
from framekiln.preview.problems import problem_of
from framekiln.preview.sound import make_sound

POLL_S: Final = 0.3
# An editor may write a file in several steps.
_QUIET_S: Final = 0.05
_NOTES_EVERY_S: Final = 0.25
# An open preview is no film that takes too long.
_WHOLE_S: Final = 365 * 24 * 3600.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class PreviewSettings:
    """How frames and films are made, and where films go."""

    output_folder: Path
    limits: FilmLimits = field(default_factory=FilmLimits)
    browser_limits: BrowserLimits | None = None
    page_method: PageMethod = PageMethod.AUTO


class Preview:
    """Made with `await Preview.start`; closed with `close`."""

    def __init__(
        self, reader: CompositionReader, settings: PreviewSettings, data: JsonObject | None
    ) -> None:
        self._reader = reader
        self._settings = settings
        self._limits = replace(settings.limits, whole_s=_WHOLE_S)
        self._data = data
        self.events = EventFeed()
        self._cache = FrameCache()
        self._loop = asyncio.get_running_loop()
        self._frames = FrameThread(
            self._cache, self._limits, settings.browser_limits, self._receive_notes
        )
        films = FilmSettings(
            settings.output_folder, settings.limits, settings.browser_limits, settings.page_method
        )
        self.films = PreviewFilms(reader, films, self._report_film)
        # The numbers of versions begin again with each start, but browsers keep frames.
        self._run = secrets.token_hex(3)
        self._numbers = itertools.count(1)
        self._version = PreviewVersion(f"{self._run}-0")
        self._problem: PreviewProblem | None = None
        self._form: DataForm | None = None
        self._notes = FilmNotes()
        self._notes_timer: asyncio.TimerHandle | None = None
        self._scratch: TemporaryDirectory[str] | None = None
        self._sound: asyncio.Task[bytes] | None = None
        self._opening = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the composition, and open it again when its files change."""
        await self._open()
        self._watch = asyncio.create_task(self._follow_files())

    async def close(self) -> None:
        """End everything, and delete what is temporary."""
        self.events.close()
        for task in (self._watch, self._sound):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task
        await self.films.close()
        await asyncio.to_thread(self._frames.close)
        if self._scratch is not None:
            self._scratch.cleanup()

    def composition(self) -> dict[str, Any]:
        """Return what the page shows around the frames."""
        version, problem, source = self._version, self._problem, self._version.input
        warnings = dict.fromkeys((*(source.warnings if source else ()), *self._notes.warnings))
        last = self.films.last
        form = self._form
        return {
            **version.as_json(),
            "name": self._reader.name,
            "kind": form.kind if form else None,
            "data": form.data if form else None,
            "data_schema": form.inputs if form else None,
            "warnings": list(warnings),
            "console": [asdict(entry) for entry in self._notes.console],
            "cached": self._cache.ranges(version.name),
            "error": None if problem is None else asdict(problem),
            "film": None if last is None else last.as_json(),
        }

    async def frame(self, version: str, wanted: Wanted) -> bytes:
        """Return an encoded frame; cancel this if nobody waits for it any more."""
        self._require(version)
        film = self._version.film
        if film is None or not 0 <= wanted[0] < film.plan.timeline.frame_count:
            raise NotFound(f"version {version} has no frame {wanted[0]}")
        made: Future[bytes] = self._frames.frame(version, wanted)
        return await asyncio.wrap_future(made)

    async def sound(self, version: str) -> bytes:
        """Return the sound of a version as WAV; it is made when first asked for."""
        self._require(version)
        if self._version.film is None:
            raise NotFound(f"version {version} has no sound")
        if self._sound is None:
            self._sound = asyncio.create_task(self._make_sound(self._version.film))
        try:
            return await asyncio.shield(self._sound)
        except asyncio.CancelledError:
            if self._version.name == version:
                raise
            raise NotFound(f"version {version} is not shown any more") from None

    async def set_data(self, data: Mapping[str, Any]) -> None:
        """Show the composition with other data."""
        render_data_json(data)
        if self._form is not None and self._form.kind == "config":
            raise InvalidInput("a layer config has no data: only pages and templates do")
        self._data = data
        await self._open()

    async def render(self, choice: FilmChoice) -> PreviewFilm:
        """Begin a film of the composition with the present data."""
        if self._problem is not None:
            raise Conflict(f"the composition has an error: {self._problem.message}")
        return self.films.start(self._data, choice)

    async def save_picture(self, number: int) -> PreviewFilm:
        """Write one frame beside the composition, as PNG."""
        data = await self.frame(self._version.name, (number, "png"))
        return self.films.save_picture(data)

    async def _follow_files(self) -> None:
        is_changing = False
        while True:
            await asyncio.sleep(_QUIET_S if is_changing else POLL_S)
            has_changed = await asyncio.to_thread(self._reader.has_changed)
            if is_changing and not has_changed:
                await self._open()
            is_changing = has_changed

    async def _open(self) -> None:
        """Open the composition as it is now; keep what was shown before if it has an error."""
        async with self._opening:
            name = f"{self._run}-{next(self._numbers)}"
            scratch = TemporaryDirectory(prefix="framekiln-preview-")
            await self._stop_sound()
            try:
                self._form = await asyncio.to_thread(self._reader.form, self._data)
                source = await asyncio.to_thread(
                    self._reader.read, self._data, FilmChoice(), Path(scratch.name)
                )
                order = replace(source.order, page_method=self._settings.page_method)
                film = await asyncio.wrap_future(self._frames.open(name, order))
            except Exception as error:
                scratch.cleanup()
                if not isinstance(error, FramekilnError):
                    log.exception("preview.failed")
                self._problem = problem_of(error, self._reader.name)
            else:
                self._show(PreviewVersion(name, source, film), scratch)
        self._report_composition()

    def _show(self, version: PreviewVersion, scratch: "TemporaryDirectory[str]") -> None:
        if self._scratch is not None:
            self._scratch.cleanup()
        self._version, self._scratch, self._problem = version, scratch, None

    async def _stop_sound(self) -> None:
        if self._sound is not None:
            self._sound.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._sound
            self._sound = None

    async def _make_sound(self, film: OpenedFilm) -> bytes:
        """Make the sound from a reading of its own: the frame thread uses the other."""
        with TemporaryDirectory(prefix="framekiln-preview-") as folder:
            source: PreviewInput = await asyncio.to_thread(
                self._reader.read, self._data, FilmChoice(), Path(folder)
            )
            path = await run_cancellable(
                make_sound,
                source.order,
                film,
                Path(folder),
                limits=self._limits,
                browser_limits=self._settings.browser_limits,
            )
            return await asyncio.to_thread(path.read_bytes)

    def _require(self, version: str) -> None:
        if version != self._version.name:
            raise NotFound(f"version {version[:40]} is not shown any more: ask for /composition")

    def _receive_notes(self, version: str, notes: FilmNotes) -> None:
        """Called in the frame thread."""
        with suppress(RuntimeError):  # The loop has ended.
            self._loop.call_soon_threadsafe(self._set_notes, version, notes)

    def _set_notes(self, version: str, notes: FilmNotes) -> None:
        self._notes = notes
        # A script may write to its console in every frame.
        if self._notes_timer is None:
            self._notes_timer = self._loop.call_later(_NOTES_EVERY_S, self._report_notes, version)

    def _report_notes(self, version: str) -> None:
        self._notes_timer = None
        self.events.send("notes", {"version": version})

    def _report_composition(self) -> None:
        has_error = self._problem is not None
        self.events.send("composition", {"version": self._version.name, "has_error": has_error})

    def _report_film(self, film: PreviewFilm) -> None:
        self.events.send("film", film.as_json())
