"""The thread that has the browser and the open renderer, and makes frames of one version.

Time of a page moves forward only: a frame behind the last one opens the page again. Then some
frames before it are kept too, because a user who steps back wants those next.

A frame that nobody waits for any more is not made: requests cancel their futures.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final, TypeVar

from framekiln.capture.browser import WarmBrowser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.errors import BrowserDied, FrameStalled, PageCrashed
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.grabber import RawPixelsDiffer
from framekiln.engine.film import FilmRenderer, open_renderer
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.kit.errors import NotFound
from framekiln.media.images.still_formats import JpegFormat, PngFormat, StillFormat
from framekiln.media.images.stills import encode_still
from framekiln.preview.frame_cache import FrameCache, FrameKey
from framekiln.preview.model import FilmNotes, FrameFormat, OpenedFilm

FORMATS: Final[dict[FrameFormat, StillFormat]] = {
    "jpeg": JpegFormat(quality=92),
    "png": PngFormat(transparency=False, compression=10),
}
LOSSLESS: Final[frozenset[FrameFormat]] = frozenset({"png"})
"""These have the very pixels of the film."""
# Frames before one that lies behind, made and kept with it.
_LEAD: Final = 12
_ENCODERS: Final = 2
_MAX_UNENCODED: Final = 6
_OWNER: Final = "preview"
_RETRIED: Final = (BrowserDied, FrameStalled, PageCrashed, RawPixelsDiffer)

T = TypeVar("T")
Wanted = tuple[int, FrameFormat]
OnNotes = Callable[[str, FilmNotes], None]


@dataclass(frozen=True)
class _Opening:
    version: str
    order: FilmOrder
    opened: "Future[OpenedFilm]"


class FrameThread:
    """Makes frames of the version that was opened last. Its methods may be called anywhere."""

    def __init__(
        self,
        cache: FrameCache,
        limits: FilmLimits,
        browser_limits: BrowserLimits | None = None,
        on_notes: OnNotes = lambda _version, _notes: None,
    ) -> None:
        self._cache = cache
        self._changed = threading.Condition()
        self._opening: _Opening | None = None
        self._wanted: dict[Wanted, list[Future[bytes]]] = {}
        self._encoding: dict[FrameKey, list[Future[bytes]]] = {}
        self._version = ""
        self._is_closing = False
        self._films = _OpenFilm(limits, browser_limits)
        self._on_notes = on_notes
        self._notes = FilmNotes()
        self._encoders = ThreadPoolExecutor(_ENCODERS, thread_name_prefix="preview-encoder")
        self._unencoded = threading.Semaphore(_MAX_UNENCODED)
        self._thread = threading.Thread(target=self._run, name="preview-frames", daemon=True)
        self._thread.start()

    def open(self, version: str, order: FilmOrder) -> "Future[OpenedFilm]":
        """Open a version instead of the present one, whose frames are then refused."""
        opened: Future[OpenedFilm] = Future()
        with self._changed:
            if self._opening is not None:
                self._opening.opened.cancel()
            self._opening = _Opening(version, order, opened)
            self._refuse_all()
            self._changed.notify()
        return opened

    def frame(self, version: str, wanted: Wanted) -> "Future[bytes]":
        """Return a frame of the version that is open; cancel the future if nobody wants it."""
        made: Future[bytes] = Future()
        if (data := self._cache.get((version, *wanted))) is not None:
            made.set_result(data)
            return made
        with self._changed:
            if version != self._version or self._opening is not None:
                made.set_exception(_ended(version))
                return made
            encoding = self._encoding.get((version, *wanted))
            if encoding is not None:
                encoding.append(made)
            else:
                self._wanted.setdefault(wanted, []).append(made)
                self._changed.notify()
        return made

    def close(self) -> None:
        """End the thread and its browser."""
        with self._changed:
            self._is_closing = True
            self._refuse_all()
            self._changed.notify()
        self._thread.join()
        self._encoders.shutdown()

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    # Read under the lock: `close` wakes this thread only once.
                    if self._is_closing:
                        return
                    opening, self._opening = self._opening, None
                    wanted = None if opening else self._next_wanted()
                    if opening is None and wanted is None:
                        self._changed.wait()
                if opening is not None:
                    self._open(opening)
                elif wanted is not None:
                    self._make(wanted)
        finally:
            self._films.close()

    def _refuse_all(self) -> None:
        for futures in self._wanted.values():
            for future in futures:
                _fail(future, _ended(self._version))
        self._wanted.clear()
        self._version = ""

    def _next_wanted(self) -> Wanted | None:
        """Return the first frame ahead that somebody waits for; else the first of all."""
        for wanted, futures in list(self._wanted.items()):
            if all(future.cancelled() for future in futures):
                del self._wanted[wanted]
        ahead = [each for each in self._wanted if each[0] >= self._films.next_frame]
        return min(ahead or self._wanted, default=None)

    def _open(self, opening: _Opening) -> None:
        if not opening.opened.set_running_or_notify_cancel():
            return
        try:
            film = self._films.open(opening.order)
        except BaseException as error:
            opening.opened.set_exception(error)
            return
        with self._changed:
            self._version = opening.version
        self._cache.keep_only(opening.version)
        opening.opened.set_result(film)
        self._report_notes()

    def _make(self, wanted: Wanted) -> None:
        """Make the frame, or the next one on the way to it."""
        target = wanted[0]
        with self._changed:
            is_exact = any(format_ in LOSSLESS for _, format_ in self._wanted)
        try:
            number, pixels = self._films.step_to(target, is_exact=is_exact)
        except BaseException as error:
            with self._changed:
                futures = self._wanted.pop(wanted, [])
            for future in futures:
                _fail(future, error)
            return
        self._report_notes()
        with self._changed:
            asked = {format_ for each, format_ in self._wanted if each == number}
        formats = asked if is_exact else asked - LOSSLESS
        if not formats and target - number <= _LEAD:
            formats = {"jpeg"}
        for format_ in sorted(formats):
            self._encode((number, format_), pixels)

    def _encode(self, made: Wanted, pixels: Pixels) -> None:
        """Encode a frame in another thread, while the next one is made."""
        key: FrameKey = (self._version, *made)
        with self._changed:
            self._encoding.setdefault(key, []).extend(self._wanted.pop(made, []))

        def encode() -> None:
            error: BaseException | None = None
            data = b""
            try:
                data = encode_still(pixels, FORMATS[made[1]])
                self._cache.put(key, data)
            except Exception as reason:
                error = reason
            finally:
                self._unencoded.release()
            with self._changed:
                futures = self._encoding.pop(key, [])
            for future in futures:
                _finish(future, data) if error is None else _fail(future, error)

        self._unencoded.acquire()
        self._encoders.submit(encode)

    def _report_notes(self) -> None:
        notes = self._films.notes()
        if notes != self._notes:
            self._notes = notes
            self._on_notes(self._version, notes)


class _OpenFilm:
    """The browser and the renderer of the present order. Owned by the frame thread."""

    def __init__(self, limits: FilmLimits, browser_limits: BrowserLimits | None) -> None:
        self._limits = limits
        self._browser = WarmBrowser(browser_limits)
        self._stack = ExitStack()
        self._order = FilmOrder()
        self._renderer: FilmRenderer | None = None
        self._fallback_reason: str | None = None
        self._lead_from: int | None = None

    @property
    def next_frame(self) -> int:
        """The first frame that can be shown without opening the composition again."""
        return 0 if self._renderer is None else self._renderer.next_frame

    def open(self, order: FilmOrder) -> OpenedFilm:
        """Open an order instead of the present one."""
        self._order, self._fallback_reason = order, None
        renderer = self._retried(self._opened)
        return OpenedFilm(
            plan=renderer.plan,
            is_declarative=renderer.is_declarative,
            tracks=renderer.tracks(),
            audio_clips=renderer.plan.audio_clips,
        )

    def step_to(self, target: int, *, is_exact: bool) -> tuple[int, Pixels]:
        """Return a frame: the one asked for, or one on the way to it."""
        return self._retried(lambda: self._step_to(target, is_exact=is_exact))

    def notes(self) -> FilmNotes:
        """Return what the composition reported so far."""
        if self._renderer is None:
            return FilmNotes()
        return FilmNotes(self._renderer.warnings(), self._renderer.console())

    def close(self) -> None:
        """Close the renderer and the browser."""
        self._renderer = None
        self._stack.close()
        self._browser.close()

    def _step_to(self, target: int, *, is_exact: bool) -> tuple[int, Pixels]:
        renderer = self._renderer
        has_layers = self._order.layers is not None
        if renderer is None:
            renderer = self._opened()
        elif target < renderer.next_frame:
            is_near = target >= renderer.next_frame - 1 - _LEAD
            renderer = self._opened()
            self._lead_from = max(0, target - _LEAD) if is_near else None
        number = target
        if not has_layers and not renderer.is_declarative:
            number = renderer.next_frame
        elif self._lead_from is not None and target - self._lead_from <= _LEAD:
            number = min(target, max(renderer.next_frame, self._lead_from))
        # A composed film does not count what it has shown: it can show any frame of a slice.
        self._lead_from = None if number == target or self._lead_from is None else number + 1
        return number, self._guarded(lambda: renderer.render_frame(number, is_exact=is_exact))

    def _opened(self) -> FilmRenderer:
        self._renderer = self._lead_from = None
        self._stack.close()
        try:
            browser = self._stack.enter_context(self._browser.use(_OWNER))
            renderer = self._stack.enter_context(
                open_renderer(
                    self._order, browser, self._limits, fallback_reason=self._fallback_reason
                )
            )
        except BaseException:
            self._stack.close()
            raise
        self._renderer = renderer
        return renderer

    def _guarded(self, work: Callable[[], T]) -> T:
        """Pass an error through the renderer, which adds its cause, and close it."""
        try:
            return work()
        except BaseException:
            self._renderer = None
            with self._stack:
                raise

    def _retried(self, work: Callable[[], T]) -> T:
        """Do it once more if Chromium, and not the composition, may be to blame."""
        try:
            return work()
        except _RETRIED as error:
            if isinstance(error, RawPixelsDiffer):
                self._fallback_reason = str(error)
            self._renderer = None
            self._browser.close()
            return work()


def _ended(version: str) -> NotFound:
    return NotFound(f"version {version or '-'} is not open: ask for /composition again")


def _finish(future: "Future[bytes]", data: bytes) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(data)


def _fail(future: "Future[bytes]", error: BaseException) -> None:
    if not future.done() and future.set_running_or_notify_cancel():
        future.set_exception(error)
