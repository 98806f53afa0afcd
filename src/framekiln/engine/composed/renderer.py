"""Renders a page whose motion is known by composing its layers; films all that it cannot compose.

Every slice is checked against frames that Chromium draws. A slice that fails is filmed; whether it
does depends on the slice alone, so every worker makes the same bytes.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.errors import BrowserDied, PageCrashed
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.page_session import ConsoleEntry
from framekiln.compositor.frame_planes import buffer_planes, write_planes
from framekiln.compositor.picture import rgba_of
from framekiln.compositor.scene import Scene
from framekiln.engine.audio_clips import AudioClips, PageAudio
from framekiln.engine.composed.composer import FrameComposer, page_scene
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.errors import (
    ComposedFramesDiffer,
    LayersNotDrawn,
    NotComposable,
)
from framekiln.engine.composed.page_layers import MotionStates
from framekiln.engine.composed.proof import check, checked_frames
from framekiln.engine.film_order import (
    FilmLimits,
    FilmOrder,
    PageMethod,
    StillMoment,
    small_film_reason,
)
from framekiln.engine.film_plan import CaptureRecord, FilmDigests, FilmPlan, FilmSlice, cut_slices
from framekiln.engine.page.external_runtime import has_external_runtime
from framekiln.engine.page.renderer import OnFrame, PageRenderer, open_page_renderer
from framekiln.engine.tracks import TimelineTrack
from framekiln.kit.errors import FramekilnError
from framekiln.kit.lazy_log import LazyLogger
from framekiln.media.encode.film_encoder import FilmEncoder, PixelLayout

# Above this, drawing what changes costs as much as filming.
_MAX_REDRAWN: Final = 0.5
# Below this, filming costs no more: Chromium does not draw frames that repeat.
_MIN_CHANGED: Final = 0.5
FRAMES_REDRAWN: Final = "most of its frames are drawn anew"
FRAMES_REPEAT: Final = "most of its frames repeat the one before"
EDGES_RESAMPLED: Final = "it has text or edges that would be softer"

log = LazyLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _FrameSlice:
    """The slice of which single frames are shown."""

    slice: FilmSlice
    scene: Scene | None
    """None if it is filmed."""


class ComposedRenderer:
    """Owned by one thread. `open_film` opens a page at time zero, to check slices and film them."""

    def __init__(
        self,
        order: FilmOrder,
        browser: Browser,
        limits: FilmLimits,
        open_film: Callable[[], AbstractContextManager[PageRenderer]],
        stack: ExitStack,
    ) -> None:
        self._order = order
        self._browser = browser
        self._limits = limits
        self._open_film = open_film
        self._film_stack = stack.enter_context(ExitStack())
        self._layer_stack = stack.enter_context(ExitStack())
        self._film = self._film_stack.enter_context(open_film())
        self._composer: FrameComposer | None = None
        self._composed_frames = 0
        self._frame_slice: _FrameSlice | None = None
        self.plan: FilmPlan = self._film.plan
        self.is_declarative = self._film.is_declarative
        self._obstacle = next(iter(film_obstacles(order, self._film)), None)
        self._filmed_reason: str | None = None
        self._has_differed = False

    @property
    def next_frame(self) -> int:
        """The first frame that can still be shown."""
        shown = self._frame_slice
        if shown is not None and shown.scene is not None:
            return shown.slice.first_frame
        return self._film.next_frame

    @property
    def has_copied(self) -> bool:
        """Never: every frame is encoded."""
        return False

    @property
    def is_cacheable(self) -> bool:
        """Whether the digests cover every input of what was rendered so far."""
        return self._film.is_cacheable

    def digests(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return the digests of the inputs of slices, and of the sound."""
        return self._film.digests(slices)

    def render_slice(self, slice_: FilmSlice, path: Path, shown: OnFrame) -> None:
        """Write one slice, composed if that is possible and looks right."""
        # A slice after one that differs most often does so, too: see that before it is encoded.
        checks_first = self._has_differed
        self._frame_slice = None
        self._filmed_reason, self._has_differed = self._obstacle, False
        if self._obstacle is None:
            try:
                self._again_with_new_tab(
                    slice_,
                    lambda: self._compose(slice_, path, shown, checks_first=checks_first),
                )
            except (NotComposable, ComposedFramesDiffer) as reason:
                self._filmed_reason = str(reason)
                self._has_differed = isinstance(reason, ComposedFramesDiffer)
                self._refused_slice(slice_, reason, slice_.first_frame)
            else:
                return
        self._film.render_slice(slice_, path, shown)

    def render_still(self, moment: StillMoment) -> Pixels:
        """Return one frame as BGRA."""
        return self._film.render_still(moment)

    def render_frame(self, number: int, *, is_exact: bool = True) -> Pixels:
        """Return one frame as BGRA; as Chromium draws it, if none of its slice must be exact."""
        shown = self._frame_slice
        if shown is None or not shown.slice.first_frame <= number < shown.slice.end_frame:
            self._frame_slice = None
            if not is_exact or self._obstacle is not None or not self.is_declarative:
                return self._film.render_frame(number)
            shown = self._frame_slice = self._checked_slice(number)
        if shown.scene is None:
            return self._film.render_frame(number)
        assert self._composer is not None, "it has composed the slice"
        try:
            with _drawing_failures():
                shown.scene.show(self._composer.items(number))
        except LayersNotDrawn as reason:
            self._frame_slice = self._refused_slice(shown.slice, reason, number)
            return self._film.render_frame(number)
        return np.ascontiguousarray(rgba_of(shown.scene.picture)[..., [2, 1, 0, 3]])

    def tracks(self) -> tuple[TimelineTrack, ...]:
        """Return the timed elements of the page."""
        return self._film.tracks()

    def console(self) -> tuple[ConsoleEntry, ...]:
        """Return what scripts wrote to their console so far."""
        return self._film.console()

    def audio_clips(self) -> AudioClips:
        """Return the audible parts of sources, once the last frame was shown."""
        return self._film.audio_clips()

    def save_page_audio(self, folder: Path) -> tuple[PageAudio, ...]:
        """Write the page's own sound into files, once its last frame was shown."""
        return self._film.save_page_audio(folder)

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings for the film's owner."""
        return self._film.warnings()

    def take_record(self) -> CaptureRecord:
        """Return how the frames since the last call were made."""
        composed, self._composed_frames = self._composed_frames, 0
        record = self._film.take_record()
        return replace(
            record,
            composed_frames=composed,
            filmed_reason=self._filmed_reason,
            has_differed=self._has_differed,
        )

    def _again_with_new_tab(self, slice_: FilmSlice, compose: Callable[[], T]) -> T:
        """Compose a slice; after a failure that may pass, once more with a new tab."""
        try:
            return compose()
        except LayersNotDrawn as reason:
            log.info("film.layers_drawn_again", slice=slice_.number, reason=str(reason))
            self._layer_stack.close()
            self._composer = None
            self._reopen_film(slice_.first_frame)
            return compose()

    def _checked_slice(self, number: int) -> _FrameSlice:
        """Find out whether the slice of a frame is composed, as if the film were made."""
        slices = cut_slices(self.plan.timeline)
        slice_ = slices[bisect_right(slices, number, key=lambda each: each.first_frame) - 1]

        def compose() -> Scene:
            self._reopen_film(slice_.first_frame)
            composer, checked = self._prepare(slice_)
            scene = page_scene(self.plan.size)
            self._check_first(composer, scene, sorted(checked))
            return scene

        try:
            return _FrameSlice(slice_, self._again_with_new_tab(slice_, compose))
        except (NotComposable, ComposedFramesDiffer) as reason:
            return self._refused_slice(slice_, reason, number)

    def _refused_slice(self, slice_: FilmSlice, reason: Exception, first_frame: int) -> _FrameSlice:
        """Have a slice filmed, beginning with that frame."""
        log.info("film.slice_not_composed", slice=slice_.number, reason=str(reason))
        if self._composer is None:
            # The page itself cannot be composed, and so none of its slices.
            self._obstacle = str(reason)
        self._reopen_film(first_frame)
        return _FrameSlice(slice_, None)

    def _opened_composer(self) -> FrameComposer:
        if self._composer is None:
            page = self._layer_stack.enter_context(
                open_drawing_page(self._order, self._browser, self.plan, self._limits)
            )
            self._composer = FrameComposer(page)
        return self._composer

    def _compose(
        self, slice_: FilmSlice, path: Path, shown: OnFrame, *, checks_first: bool
    ) -> None:
        composer, checked = self._prepare(slice_)
        if checks_first:
            self._check_first(composer, page_scene(self.plan.size), sorted(checked))
            checked = frozenset()
        self._encode(composer, slice_, checked, path, shown)
        self._composed_frames += slice_.frame_count

    def _prepare(self, slice_: FilmSlice) -> tuple[FrameComposer, frozenset[int]]:
        """Draw the layers of a slice; return also which of its frames are to be checked."""
        with _drawing_failures():
            composer = self._opened_composer()
            states = composer.read(slice_.first_frame, slice_.frame_count)
        if self._order.page_method is PageMethod.AUTO:
            raise_if_better_filmed(composer, states, slice_.frame_count)
        with _drawing_failures():
            composer.draw()
        frame_count = self.plan.timeline.frame_count
        return composer, checked_frames(slice_, states.changes(), frame_count=frame_count)

    def _check_first(self, composer: FrameComposer, scene: Scene, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._film.check_deadline()
            with _drawing_failures():
                scene.show(composer.items(number))
            self._check(composer, number, scene)

    def _encode(
        self,
        composer: FrameComposer,
        slice_: FilmSlice,
        checked: frozenset[int],
        path: Path,
        shown: OnFrame,
    ) -> None:
        size, scene = self.plan.size, page_scene(self.plan.size)
        with FilmEncoder(path, self._film.video_settings, PixelLayout.YUV420P) as encoder:
            for number in range(slice_.first_frame, slice_.end_frame):
                self._film.check_deadline()
                buffer = encoder.buffer()
                with _drawing_failures():
                    items = composer.items(number)
                has_changed = scene.show(
                    items, buffer_planes(buffer, size.width_px, size.height_px)
                )
                if number in checked:
                    self._check(composer, number, scene)
                if has_changed or number == slice_.first_frame:
                    if not has_changed:
                        write_planes(scene.picture, buffer)
                    encoder.write(buffer)
                else:
                    encoder.release_buffer(buffer)
                    encoder.repeat()
                shown(number)

    def _check(self, composer: FrameComposer, number: int, scene: Scene) -> None:
        """Compare the frame of a scene with Chromium's."""
        filmed = np.empty((self.plan.size.height_px, self.plan.size.width_px, 4), np.uint8)
        with self._film.host.reuse_frames(composer.footage.find):
            self._film.capture(number, filmed)
        check(number, scene.picture, filmed)

    def _reopen_film(self, first_frame: int) -> None:
        """Have a page that can still show the frame: time never goes back."""
        if self._film.next_frame <= first_frame:
            return
        self._film_stack.close()
        self._film = self._film_stack.enter_context(self._open_film())


@contextmanager
def open_composed_renderer(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[ComposedRenderer]:
    """Load the page, ready for its first frame; its layers are drawn with the first slice."""

    def open_film() -> AbstractContextManager[PageRenderer]:
        return open_page_renderer(order, browser, limits, fallback_reason=fallback_reason)

    with ExitStack() as stack:
        yield ComposedRenderer(order, browser, limits, open_film, stack)


@contextmanager
def _drawing_failures() -> Iterator[None]:
    """Have a slice filmed whose layers cannot be drawn: filming loads no source again."""
    try:
        yield
    except (BrowserDied, PageCrashed):
        # A new browser may do better.
        raise
    except FramekilnError as error:
        raise LayersNotDrawn(f"its layers could not be drawn: {error.message}") from error


def raise_if_better_filmed(composer: FrameComposer, states: MotionStates, frame_count: int) -> None:
    """Raise `NotComposable` for frames that cost as much, or would be softer, if composed."""
    if states.redrawn_frames() > _MAX_REDRAWN * frame_count:
        raise NotComposable(FRAMES_REDRAWN)
    if states.changed_frames() < _MIN_CHANGED * frame_count:
        raise NotComposable(FRAMES_REPEAT)
    if composer.resamples_edges:
        raise NotComposable(EDGES_RESAMPLED)


def film_obstacles(order: FilmOrder, film: PageRenderer) -> tuple[str, ...]:
    """Return why a page has to be filmed, as far as that is known without its layers."""
    is_chosen = order.page_method is not PageMethod.AUTO
    small = small_film_reason(film.plan.size, film.plan.timeline.frame_count)
    reasons = (
        (has_external_runtime(order), "it has an external runtime"),
        (film.plan.has_page_audio, "it mixes its own sound"),
        (film.has_waited, "it delayed its first frame"),
        # Scripts run twice, ahead and for the proof: that costs more than drawing saves.
        (not is_chosen and not film.is_declarative, "its frames depend on those before them"),
        (not is_chosen and small is not None, small or ""),
        (film.films_scenes, "its slices can be reused one by one"),
    )
    return tuple(reason for is_one, reason in reasons if is_one)
