"""Films that are rendered from the preview: one at a time, beside the composition."""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from framekiln.capture.browser import open_browser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmLimits, PageMethod
from framekiln.kit.atomic_file import READABLE_BY_ALL
from framekiln.kit.cancellation import check_cancelled, run_cancellable
from framekiln.kit.errors import Conflict, FramekilnError, NotFound
from framekiln.preview.model import CompositionReader, FilmChoice, JsonObject

_REPORT_EVERY_S: Final = 0.1
_MAX_NAMES: Final = 10_000
_ENDINGS: Final = re.compile(r"(\.(html?|json|tar|t?gz|zip))+$", re.IGNORECASE)
_NO_NAME: Final = re.compile(r"[^\w.-]+")


class FilmState(StrEnum):
    """How far a film is."""

    RENDERING = "rendering"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class PreviewFilm:
    """A film, or a picture, that was asked for."""

    id: int
    name: str
    state: FilmState
    done: int = 0
    count: int = 0
    message: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what the page shows."""
        return asdict(self)


@dataclass(frozen=True)
class FilmSettings:
    """How films are made, and where they go."""

    folder: Path
    limits: FilmLimits = field(default_factory=FilmLimits)
    browser_limits: BrowserLimits | None = None
    page_method: PageMethod = PageMethod.AUTO


class PreviewFilms:
    """Makes films; `changed` is called with each state. Used in one event loop."""

    def __init__(
        self,
        reader: CompositionReader,
        settings: FilmSettings,
        changed: Callable[[PreviewFilm], None],
    ) -> None:
        self._reader = reader
        self._settings = settings
        self._changed = changed
        self._films: dict[int, PreviewFilm] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def folder(self) -> Path:
        """Where films go."""
        return self._settings.folder

    @property
    def last(self) -> PreviewFilm | None:
        """The film that was asked for last."""
        return self._films[max(self._films)] if self._films else None

    def start(self, data: JsonObject | None, choice: FilmChoice) -> PreviewFilm:
        """Begin a film of the composition as it is now; raise while another one is made."""
        self._require_idle()
        film = self._add(choice.container)
        self._task = asyncio.create_task(self._make(film, data, choice))
        return film

    def save_picture(self, data: bytes) -> PreviewFilm:
        """Write a PNG beside the composition."""
        self._require_idle()
        film = self._add("png")
        path = self._settings.folder / film.name
        path.write_bytes(data)
        self._note(replace(film, state=FilmState.COMPLETE, done=1, count=1))
        return self._films[film.id]

    def cancel(self, number: int) -> None:
        """Stop a film that is being made."""
        film = self._find(number)
        if film.state is FilmState.RENDERING and self._task is not None:
            self._task.cancel()

    def path(self, number: int) -> Path:
        """Return the file of a complete film."""
        film = self._find(number)
        path = self._settings.folder / film.name
        if film.state is not FilmState.COMPLETE or not path.is_file():
            raise NotFound(f"film {number} has no file: it is {film.state}, or was deleted")
        return path

    async def close(self) -> None:
        """Stop what is being made, and wait until nothing of it is left."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _require_idle(self) -> None:
        if self._task is not None and not self._task.done():
            raise Conflict("another film is being made: wait for its end, or cancel it")

    def _find(self, number: int) -> PreviewFilm:
        if number not in self._films:
            raise NotFound(f"there is no film {number}")
        return self._films[number]

    def _add(self, ending: str) -> PreviewFilm:
        name = free_name(self._settings.folder, self._reader.name, ending)
        film = PreviewFilm(len(self._films) + 1, name, FilmState.RENDERING)
        self._note(film)
        return film

    def _note(self, film: PreviewFilm) -> None:
        self._films[film.id] = film
        self._changed(film)

    async def _make(self, film: PreviewFilm, data: JsonObject | None, choice: FilmChoice) -> None:
        loop = asyncio.get_running_loop()
        reported_s = 0.0

        def report(done: int, count: int) -> None:
            nonlocal reported_s
            check_cancelled()
            if done == count or time.monotonic() - reported_s > _REPORT_EVERY_S:
                reported_s = time.monotonic()
                loop.call_soon_threadsafe(self._note, replace(film, done=done, count=count))

        try:
            await run_cancellable(self._render, film.name, data, choice, report)
        except asyncio.CancelledError:
            self._note(replace(self._films[film.id], state=FilmState.CANCELLED))
        except FramekilnError as error:
            failed = replace(self._films[film.id], state=FilmState.FAILED, message=error.message)
            self._note(failed)
        except OSError as error:
            message = f"cannot write {film.name}: {error.strerror}"
            self._note(replace(self._films[film.id], state=FilmState.FAILED, message=message))
        else:
            self._note(replace(self._films[film.id], state=FilmState.COMPLETE))

    def _render(
        self,
        name: str,
        data: JsonObject | None,
        choice: FilmChoice,
        report: Callable[[int, int], None],
    ) -> None:
        settings = self._settings
        with (
            TemporaryDirectory(prefix="framekiln-preview-") as scratch,
            # Beside the film, so that it appears whole; hidden files are not watched.
            TemporaryDirectory(prefix=f".{name}.", dir=settings.folder) as beside,
            open_browser(limits=settings.browser_limits) as browser,
        ):
            order = self._reader.read(data, choice, Path(scratch)).order
            order = replace(order, page_method=settings.page_method)
            unfinished = Path(beside) / name
            make_film(order, browser, unfinished, limits=settings.limits, report=report)
            unfinished.chmod(READABLE_BY_ALL)
            unfinished.rename(settings.folder / name)


def free_name(folder: Path, name: str, ending: str) -> str:
    """Return a name that no file in the folder has: nothing is ever overwritten."""
    without_ending = _ENDINGS.sub("", name)
    stem = _NO_NAME.sub("-", without_ending).strip("-.") or "film"
    for number in range(1, _MAX_NAMES):
        found = f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}"
        if not (folder / found).exists():
            return found
    raise Conflict(f"{folder} has {_MAX_NAMES:,} films of that name: delete some")
