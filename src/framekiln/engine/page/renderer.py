"""Renders a page: loads it at time zero, then captures it slice by slice.

Time moves forward only. If frames depend on those before them, the page is shown every frame up
to a slice, without capturing its pixels; a declarative page jumps to the slice.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.capture.bridged_page import BridgedPage
from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.grabber import Grabber, GrabMethod, prepare_grabber
from framekiln.capture.page import LOSSLESS, Page, PageFacts
from framekiln.capture.page_session import ConsoleEntry
from framekiln.capture.screenshot import read_png
from framekiln.composition.document import as_document
from framekiln.engine.audio_clips import AudioClips, PageAudio, audible_clips
from framekiln.engine.confinement import missing_confinement
from framekiln.engine.errors import FilmTookTooLong, SizeUnsettled
from framekiln.engine.film_order import FilmLimits, FilmOrder, StillMoment
from framekiln.engine.film_plan import (
    PRESET_SETTINGS,
    CaptureRecord,
    FilmDigests,
    FilmPlan,
    FilmSlice,
    likely_window,
    plan_page_film,
)
from framekiln.engine.missing_media import check_images
from framekiln.engine.page.digests import PageDigests
from framekiln.engine.page.external_runtime import initialize_bridge, open_page_for
from framekiln.engine.page.host import PageHost
from framekiln.engine.page.warnings import PageWarnings
from framekiln.engine.tracks import TimelineTrack, page_tracks
from framekiln.kit.warning_text import WarningText
from framekiln.media.audio.wav import write_wav
from framekiln.media.encode.film_encoder import FilmEncoder, VideoSettings
from framekiln.media.film_containers import film_container
from framekiln.media.images.stills import decode_bgra
from framekiln.timeline import Timeline

OnFrame = Callable[[int], None]
"""Called with the number of each frame captured. An exception stops the film."""

# Once to learn the page's size, once with that size, and once more in case the size changed it. If
# the size was as likely as it seemed, once.
_OPENINGS: Final = 3
# A change that was not expected, and goes back to where it was, is noticed if frames are drawn.
_MAX_REPEATED: Final = 16
_SILENT_AUDIO_CONTEXT: Final = WarningText(
    "sound_left_out",
    "an AudioContext that was not expected is not heard: create it while the page loads, or write"
    " AudioContext into the page or one of its scripts",
)


@dataclass
class PageRenderer:
    """Made by `open_page_renderer`; owned by one thread."""

    page: Page
    grabber: Grabber
    plan: FilmPlan
    limits: FilmLimits
    order: FilmOrder
    is_declarative: bool
    fallback_reason: str | None
    page_warnings: PageWarnings
    host: PageHost
    _digests: PageDigests = field(init=False)
    _captured_frames: int = field(default=0, init=False)
    _next_frame: int = field(default=0, init=False)
    _may_stand_still: bool = field(init=False)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.whole_s
        self._may_stand_still = self.is_declarative and not self.order.draws_all_frames
        encoding = (self.video_settings, self.order.container, self.grabber.method)
        self._digests = PageDigests(
            self.order,
            self.plan,
            self.page,
            self.page_warnings,
            is_declarative=self.is_declarative,
            encoding=repr(encoding),
        )

    @property
    def films_scenes(self) -> bool:
        """Whether slices can be reused one by one, if they are filmed."""
        return self._digests.films_scenes

    @property
    def next_frame(self) -> int:
        """The first frame that can still be shown."""
        return self._next_frame

    @property
    def has_copied(self) -> bool:
        """Never: every frame is encoded."""
        return False

    @property
    def is_cacheable(self) -> bool:
        """Whether the digests cover every input of what was rendered so far."""
        return self._digests.is_cacheable

    @property
    def video_settings(self) -> VideoSettings:
        """How the film is encoded."""
        size, effort = self.plan.size, PRESET_SETTINGS[self.order.preset].video
        return VideoSettings(
            size.width_px,
            size.height_px,
            self.plan.timeline.fps,
            preset=effort.preset,
            crf=effort.crf,
            coding=film_container(self.order.container).video,
        )

    def digests(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return the digests of slices and of the audio, if its inputs determine them."""
        return self._digests.of(slices)

    def render_slice(self, slice_: FilmSlice, path: Path, shown: OnFrame) -> None:
        """Write one slice; it must not begin before `next_frame`."""
        self._go_to(slice_.first_frame)
        # The next frame to draw. If frames before it are left out, it has to look the same, too.
        due, is_still = slice_.first_frame, False
        with FilmEncoder(path, self.video_settings) as encoder, self.host.raise_missing_sources():
            for number in range(slice_.first_frame, slice_.end_frame):
                self.check_deadline()
                if number < due:
                    encoder.repeat()
                else:
                    has_changed = self._film_frame(number, slice_, encoder, is_still=is_still)
                    due = number + 1 if has_changed else self._next_due(number, slice_)
                    is_still = due > number + 1
                self._next_frame = number + 1
                shown(number)
            self.page.raise_late_failure()

    def _film_frame(
        self, number: int, slice_: FilmSlice, encoder: FilmEncoder, *, is_still: bool
    ) -> bool:
        """Draw a frame and encode it; return whether it differs from the one before."""
        pixels = encoder.buffer()
        is_first = number == slice_.first_frame
        has_changed = self.grabber.grab(
            number,
            self.plan.timeline.frame_us(number),
            pixels,
            # Memory that was right once and no longer is would be wrong to the end.
            checked=number == slice_.end_frame - 1,
            is_needed=is_first,
            is_still=is_still,
        )
        if has_changed or is_first:
            encoder.write(pixels)
            self._captured_frames += 1
        else:
            encoder.release_buffer(pixels)
            encoder.repeat()
        return has_changed

    def _next_due(self, number: int, slice_: FilmSlice) -> int:
        """Return the next frame to draw after one that repeats the frame before.

        The last of the frames that should look the same is drawn, to see that it does.
        """
        if not self._may_stand_still or self.host.has_moving_pictures:
            return number + 1
        until = self.page.still_until(number, self.plan.timeline.frame_count)
        self._may_stand_still = until > 0
        # The last frame of a slice is compared with a screenshot, whether it has changed or not.
        return max(number + 1, min(until, slice_.end_frame - 1, number + _MAX_REPEATED) - 1)

    @property
    def has_waited(self) -> bool:
        """Whether frames were drawn before frame 0, because the page delayed it."""
        return self.page.has_waited

    def capture(self, number: int, pixels: Pixels) -> None:
        """Capture one frame, not before `next_frame`; those before it are not drawn."""
        self._go_to(number, is_shown=False)
        at_us = self.plan.timeline.frame_us(number)
        self.grabber.grab(number, at_us, pixels, is_needed=True)
        self._next_frame = number + 1

    def render_still(self, moment: StillMoment) -> Pixels:
        """Capture one frame exactly at its time, with transparency if wanted."""
        timeline, at_us = self.plan.timeline, moment.at_ms * 1000
        last = timeline.frame_count - 1
        self._go_to(last)
        if self._next_frame == 0 and at_us > 0:
            # Animations start with the first frame drawn, which must be the one at time 0.
            self.page.show(0, 0)
        if moment.is_transparent:
            self.page.make_transparent()
        shown = self.page.show(last, at_us, screenshot=LOSSLESS)
        self.host.check_sources()
        assert shown.screenshot is not None
        return decode_bgra(read_png(shown.screenshot, self.page.size))[: self.plan.size.height_px]

    def render_frame(self, number: int, *, is_exact: bool = True) -> Pixels:
        """Return one frame of the film as BGRA; it must not be before `next_frame`."""
        size = self.plan.size
        pixels = np.empty((size.height_px, size.width_px, 4), np.uint8)
        with self.host.raise_missing_sources():
            self.capture(number, pixels)
            self.page.raise_late_failure()
        return pixels

    def tracks(self) -> tuple[TimelineTrack, ...]:
        """Return the timed elements of the page."""
        film_ms = float(self.plan.timeline.duration_ms)
        return page_tracks(self.page.evaluate(f"__framekiln.tracks({film_ms})"))

    def console(self) -> tuple[ConsoleEntry, ...]:
        """Return what scripts wrote to their console so far."""
        return self.page.console()

    def audio_clips(self) -> AudioClips:
        """Return the audio clips after the last frame: scripts may have changed them."""
        if self.is_declarative:
            return self.plan.audio_clips
        return _audible_clips(self.page, self.plan.timeline)

    def save_page_audio(self, folder: Path) -> tuple[PageAudio, ...]:
        """Write the sound of the page's scripts, or of its external runtime."""
        return write_page_audio(self.page, folder, self.plan.timeline)

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings for the film's owner."""
        unheard = (
            ()
            if self.plan.has_page_audio or not self.page.script_sound.has_begun
            else (_SILENT_AUDIO_CONTEXT,)
        )
        sounds = (WarningText("sound_differs", each) for each in self.page.script_sound.warnings)
        return (*self.page_warnings.collect(), *sounds, *unheard)

    def take_record(self) -> CaptureRecord:
        """Return how the frames since the last call were made."""
        captured, self._captured_frames = self._captured_frames, 0
        return CaptureRecord(
            grabbing=self.grabber.method,
            fallback_reason=self.fallback_reason,
            confinement=self.page.browser.confinement,
            browser=self.page.browser.version,
            captured_frames=captured,
            warnings=self.warnings(),
            missing_confinement=missing_confinement(),
            whole_reason=self._digests.whole_reason,
        )

    def _go_to(self, frame: int, *, is_shown: bool = True) -> None:
        if frame < self._next_frame:
            raise ValueError(f"frame {frame} lies behind frame {self._next_frame}")
        if self.is_declarative and self._next_frame < frame:
            # Animations start with the first frame drawn, so that must be frame 0.
            if self._next_frame == 0:
                self._show_next()
            for number in self.page.frames_before(frame):
                if number >= self._next_frame:
                    self._next_frame = number
                    self._show_next()
            self._next_frame = frame
        while self._next_frame < frame:
            self._show_next(is_shown=is_shown or self._next_frame == 0)

    def _show_next(self, *, is_shown: bool = True) -> None:
        self.check_deadline()
        show = self.page.show if is_shown else self.page.skip
        show(self._next_frame, self.plan.timeline.frame_us(self._next_frame))
        self._next_frame += 1

    def check_deadline(self) -> None:
        """Raise if the film takes too long."""
        if time.monotonic() > self._deadline:
            raise FilmTookTooLong(
                f"not finished after {self.limits.whole_s:g} s, at frame {self._next_frame} of"
                f" {self.plan.timeline.frame_count}"
            )


@contextmanager
def open_page_renderer(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[PageRenderer]:
    """Load the composition, ready for its first frame.

    `fallback_reason` says why raw frames cannot be used, if they cannot.
    """
    raw = order.grabbing is GrabMethod.RAW and fallback_reason is None
    viewport = likely_window(order)
    for _ in range(_OPENINGS):
        with (
            open_page_for(order, browser, viewport) as (page, has_own_runtime),
            PageHost(
                order.assets,
                browser,
                order.site,
                service=order.service if has_own_runtime else None,
                within_s=limits.whole_s,
            ) as host,
        ):
            page.data = order.data
            grabber, missing = prepare_grabber(page, decode_bgra, raw=raw)
            notes = PageWarnings(page, host.network(as_document(order.html)), host)
            with notes.explain_errors():
                facts = _load(page, notes, host, order=order, limits=limits)
                plan = plan_page_film(order, facts)
                notes.plan_warnings = plan.warnings
                if plan.size == viewport:
                    # Only now is the film's length known, and with it the end of the clips.
                    plan = replace(plan, audio_clips=_audible_clips(page, plan.timeline))
                    with host.raise_missing_sources():
                        initialize_bridge(page, order, plan, within_s=limits.settle_s)
                    page.begin(plan.timeline.fps, frame_within_s=limits.frame_s)
                    yield PageRenderer(
                        page,
                        grabber,
                        plan,
                        limits,
                        order=order,
                        is_declarative=bool(facts.plan.get("isDeclarative", False)),
                        fallback_reason=fallback_reason or missing,
                        page_warnings=notes,
                        host=host,
                    )
                    return
        # The page has another size than its window: open it again in a window of that size.
        before, viewport = viewport, plan.size
    raise SizeUnsettled(
        f"in a window of {before.width_px}x{before.height_px} the page says that it is"
        f" {viewport.width_px}x{viewport.height_px}, and so on: give it a fixed size, or ask for"
        " width and height"
    )


def _audible_clips(page: Page, timeline: Timeline) -> AudioClips:
    film_ms = float(timeline.duration_ms)
    return audible_clips(page.evaluate(f"__framekiln.media({film_ms})"), film_ms=film_ms)


def _load(
    page: Page, notes: PageWarnings, host: PageHost, *, order: FilmOrder, limits: FilmLimits
) -> PageFacts:
    with host.raise_missing_sources():
        facts = page.load(
            notes.network, settle_within_s=limits.settle_s, has_files=order.site is not None
        )
    notes.check()
    check_images(page, host.fetch_errors, order.site)
    return facts


# Sound is rendered in blocks of a few milliseconds; the last one extends beyond the film.
_LAST_BLOCK_US: Final = 20_000


def write_page_audio(page: Page, folder: Path, timeline: Timeline) -> tuple[PageAudio, ...]:
    """Write the page's own sound into files, once the last frame was shown; no file is silence."""
    if isinstance(page, BridgedPage):
        path = folder / "page.wav"
        return (PageAudio(path),) if write_wav(page.sound(), path) else ()
    end_us = timeline.frame_us(timeline.frame_count) + _LAST_BLOCK_US
    saved = []
    for number, sound in enumerate(page.finish_sound(end_us)):
        path = folder / f"page-{number}.wav"
        write_wav(sound.samples(), path, rate_hz=sound.rate_hz)
        saved.append(PageAudio(path, Fraction(sound.first * 1000, sound.rate_hz)))
    return tuple(saved)
