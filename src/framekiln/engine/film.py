"""Makes a film or a still in this process, with the same renderers that workers use.

`framekiln render` calls it: it needs no organization, no database and no HTTP.

Renderers of pages and of layers share one protocol; `open_renderer` opens either.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from framekiln.capture.browser import Browser
from framekiln.capture.errors import FrameStalled
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.grabber import RawPixelsDiffer, StillFrameChanged
from framekiln.capture.page_session import ConsoleEntry
from framekiln.engine.assets import TrackedAssets
from framekiln.engine.audio_clips import AudioClips, PageAudio
from framekiln.engine.audio_mix import mix_audio
from framekiln.engine.film_order import FilmLimits, FilmOrder, PageMethod, StillMoment
from framekiln.engine.film_plan import CaptureRecord, FilmDigests, FilmPlan, FilmSlice, cut_slices
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.engine.tracks import TimelineTrack
from framekiln.kit.atomic_file import READABLE_BY_ALL
from framekiln.kit.confined.budget import sessions_of_one_film
from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.run import run_in_sandbox
from framekiln.kit.confined.sandbox import strongest_sandbox
from framekiln.kit.lazy_log import LazyLogger
from framekiln.media.encode.skipped_frames import UnexpectedPacket
from framekiln.media.images.stills import StillFormat, encode_still
from framekiln.media.remux.assemble import assemble
from framekiln.media.remux.confined_join import join_order

log = LazyLogger(__name__)


class FilmRenderer(Protocol):
    """Renders a composition slice by slice; owned by one thread."""

    plan: FilmPlan
    is_declarative: bool
    """Whether any frame can be shown without showing those before it."""

    @property
    def next_frame(self) -> int:
        """The first frame that can still be shown."""
        ...

    @property
    def has_copied(self) -> bool:
        """Whether a slice so far has packets of a source in it."""
        ...

    @property
    def is_cacheable(self) -> bool:
        """Whether the digests cover every input of what was rendered so far."""
        ...

    def digests(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return the digests of the inputs of slices, and of the sound."""
        ...

    def render_slice(self, slice_: FilmSlice, path: Path, shown: Callable[[int], None]) -> None:
        """Write one slice; it must not begin before `next_frame`."""
        ...

    def render_still(self, moment: StillMoment) -> Pixels:
        """Return one frame as BGRA."""
        ...

    def render_frame(self, number: int, *, is_exact: bool = True) -> Pixels:
        """Return one frame of the film as BGRA; it must not be before `next_frame`.

        One that need not be exact may be Chromium's, where the film has a composed one.
        """
        ...

    def tracks(self) -> tuple[TimelineTrack, ...]:
        """Return what the composition consists of, and when it is shown or heard."""
        ...

    def console(self) -> tuple[ConsoleEntry, ...]:
        """Return what scripts wrote to their console so far."""
        ...

    def audio_clips(self) -> AudioClips:
        """Return the audible parts of sources, once the last frame was shown."""
        ...

    def save_page_audio(self, folder: Path) -> tuple[PageAudio, ...]:
        """Write the page's own sound into files, once its last frame was shown."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings for the film's owner."""
        ...

    def take_record(self) -> CaptureRecord:
        """Return how the frames since the last call were made."""
        ...


@contextmanager
def open_renderer(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[FilmRenderer]:
    """Open the renderer for the order, ready for its first frame."""
    with (
        sessions_of_one_film(),
        _opened(order, browser, limits, fallback_reason=fallback_reason) as renderer,
    ):
        yield renderer


def _opened(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None
) -> AbstractContextManager[FilmRenderer]:
    if order.layers is None and order.has_page_digests:
        # All pages of a film share it: those that are filmed, and those whose layers are drawn.
        order = replace(order, assets=TrackedAssets(order.assets))
    if order.layers is None and order.page_method is PageMethod.FILMED:
        return open_page_renderer(order, browser, limits, fallback_reason=fallback_reason)
    # Filmed pages do not need the compositor and its libraries.
    if order.layers is None:
        from framekiln.engine.composed.renderer import open_composed_renderer  # noqa: PLC0415

        return open_composed_renderer(order, browser, limits, fallback_reason=fallback_reason)
    from framekiln.engine.layers.renderer import open_layer_renderer  # noqa: PLC0415

    return open_layer_renderer(order, browser, limits, fallback_reason=fallback_reason)


Report = Callable[[int, int], None]
"""Called with the frames done and the frame count. An exception stops the film."""


@dataclass(frozen=True)
class FilmResult:
    """What was made, and how."""

    plan: FilmPlan
    record: CaptureRecord


def make_film(
    order: FilmOrder,
    browser: Browser,
    path: Path,
    *,
    limits: FilmLimits | None = None,
    report: Report | None = None,
) -> FilmResult:
    """Render the order into `path`; fall back to screenshots if raw frames prove wrong."""
    with tempfile.TemporaryDirectory(prefix="framekiln-film-") as folder:
        work = _FilmJob(order, browser, limits or FilmLimits(), Path(folder), report)
        try:
            return _retry_stalled(lambda: work.run(path, fallback_reason=None))
        except RawPixelsDiffer as reason:
            return work.run(path, fallback_reason=str(reason))


def make_still(
    order: FilmOrder,
    browser: Browser,
    path: Path,
    format_: StillFormat,
    *,
    limits: FilmLimits | None = None,
) -> FilmResult:
    """Write the order's one picture into `path`."""
    still = order.still
    assert still is not None, "the order says when the picture is taken"

    def make() -> FilmResult:
        with open_renderer(order, browser, limits or FilmLimits()) as renderer:
            path.write_bytes(encode_still(renderer.render_still(still), format_))
            return FilmResult(renderer.plan, renderer.take_record())

    return _retry_stalled(make)


def _retry_stalled(make: Callable[[], FilmResult]) -> FilmResult:
    """Make it, once more from the start if Chromium has lost a frame."""
    try:
        return make()
    except FrameStalled:
        return make()


class _FilmJob:
    def __init__(
        self,
        order: FilmOrder,
        browser: Browser,
        limits: FilmLimits,
        folder: Path,
        report: Report | None,
    ) -> None:
        self._order = order
        self._browser = browser
        self._limits = limits
        self._folder = folder
        self._report = report or (lambda _done, _count: None)

    def run(self, path: Path, *, fallback_reason: str | None) -> FilmResult:
        """Make the film, once more from the start if frames were left out that are needed."""
        while True:
            try:
                return self._run(path, fallback_reason)
            except StillFrameChanged as reason:
                log.info("film.still_frame_changed", reason=str(reason))
                self._order = replace(self._order, draws_all_frames=True)
            except UnexpectedPacket as reason:
                log.warning("film.unexpected_packet", reason=str(reason))

    def _run(self, path: Path, fallback_reason: str | None) -> FilmResult:
        with ExitStack() as stack:
            renderer = stack.enter_context(
                open_renderer(
                    self._order, self._browser, self._limits, fallback_reason=fallback_reason
                )
            )
            timeline = renderer.plan.timeline
            slices = [self._film(renderer, each) for each in cut_slices(timeline)]
            page_sounds = renderer.save_page_audio(self._folder)
            sounds = renderer.audio_clips()
            film = FilmResult(renderer.plan, renderer.take_record())
        sound = self._folder / "sound.mp4"
        mix_audio(
            sounds,
            timeline,
            self._order.assets,
            sound,
            page_sounds=page_sounds,
            mastering=renderer.plan.mastering,
            settings=renderer.plan.sound_settings,
        )
        layers = self._order.layers
        container = self._order.container if layers is None else layers.extension.value
        join = _assemble_confined if renderer.has_copied else assemble
        join(
            slices,
            sound,
            path,
            container=container,
            fps=timeline.fps,
            frame_count=timeline.frame_count,
        )
        return film

    def _film(self, renderer: FilmRenderer, slice_: FilmSlice) -> Path:
        path = self._folder / f"{slice_.number}.mp4"
        count = renderer.plan.timeline.frame_count
        renderer.render_slice(slice_, path, lambda number: self._report(number + 1, count))
        return path


def _assemble_confined(
    slices: Sequence[Path],
    sound: Path,
    out: Path,
    *,
    container: str,
    fps: Fraction,
    frame_count: int,
) -> None:
    """Do what `assemble` does, in a confined child; slices and sound are moved."""
    with open_job_folders("join") as place:
        place.source.mkdir(mode=0o755)
        moved = [Path(shutil.move(path, place.source)) for path in (*slices, sound)]
        for path in moved:
            # The child may be another user.
            path.chmod(READABLE_BY_ALL)
        film = place.folder / "film"
        order = join_order(
            moved[:-1], moved[-1], film, container=container, fps=fps, frame_count=frame_count
        )
        asyncio.run(run_in_sandbox(strongest_sandbox(), order))
        shutil.copyfile(film, out)
