"""Renders a page: loads it at time zero, then captures it slice by slice.

It moves forward only. A page whose frames depend on those before it is shown every frame on
the way to a slice, without its pixels being taken; a declarative one jumps there.
"""

import base64
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.capture.bridged_page import BridgedPage
from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.grabber import Grabber, GrabMethod, prepare_grabber
from framekiln.capture.page import FrameSize, Page, PageFacts
from framekiln.composition.document import as_document
from framekiln.engine.audio_clips import LayerAudioClip, PageAudio, PageAudioClip, audible_clips
from framekiln.engine.digests import FilmDigests
from framekiln.engine.errors import FilmTookTooLong, SizeUnsettled
from framekiln.engine.film_order import DEFAULT_SIZE, FilmLimits, FilmOrder, StillMoment
from framekiln.engine.film_settings import FilmSettings, resolve_film_settings
from framekiln.engine.missing_media import check_images
from framekiln.engine.page.external_runtime import initialize_bridge, open_page_for
from framekiln.engine.page.host import PageHost
from framekiln.engine.page.warnings import PageWarnings
from framekiln.engine.slices import FilmSlice
from framekiln.media.audio.wav import write_wav
from framekiln.media.encode.film_encoder import FilmEncoder, VideoSettings
from framekiln.media.images.stills import decode_bgra
from framekiln.timeline import Timeline

OnFrame = Callable[[int], None]
"""Called with the number of each frame taken. What it raises stops the film."""

# Once to hear the page's size, once to have it, and once more in case that changed what it says.
_OPENINGS: Final = 3
# Lossless either way: the file that is kept is compressed later, and as asked for.
_LOSSLESS: Final = {"format": "png", "optimizeForSpeed": True}
_SILENT_AUDIO_CONTEXT: Final = (
    "an AudioContext that nobody could foresee is not heard: make it while the page loads, or write"
    " AudioContext into the page or one of its scripts"
)


@dataclass
class PageRenderer:
    """Made by `open_page_renderer`; owned by one thread."""

    page: Page
    grabber: Grabber
    settings: FilmSettings
    limits: FilmLimits
    fallback_reason: str | None
    page_warnings: PageWarnings
    host: PageHost
    _captured_frames: int = field(default=0, init=False)
    _next_frame: int = field(default=0, init=False)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.whole_s

    @property
    def next_frame(self) -> int:
        """The first frame that can still be shown."""
        return self._next_frame

    @property
    def is_cacheable(self) -> bool:
        """Never: scripts may draw anything."""
        return False

    def digests(self, slices: Sequence[FilmSlice]) -> FilmDigests:
        """Return none, for the same reason."""
        return FilmDigests((None,) * len(slices))

    def render_slice(self, slice_: FilmSlice, path: Path, shown: OnFrame) -> None:
        """Make one slice; it must not lie behind `next_frame`."""
        self._go_to(slice_.first_frame)
        size, timeline = self.settings.size, self.settings.timeline
        coding = self.settings.picture_coding
        settings = VideoSettings(size.width_px, size.height_px, timeline.fps, coding=coding)
        with FilmEncoder(path, settings) as encoder, self.host.raise_missing_sources():
            for number in range(slice_.first_frame, slice_.end_frame):
                self._check_deadline()
                pixels = encoder.buffer()
                is_edge = number in (slice_.first_frame, slice_.end_frame - 1)
                if self.grabber.grab(number, timeline.frame_us(number), pixels, checked=is_edge):
                    encoder.write(pixels)
                    self._captured_frames += 1
                else:
                    encoder.release_buffer(pixels)
                    encoder.repeat()
                self._next_frame = number + 1
                shown(number)
            self.page.raise_late_failure()

    def render_still(self, moment: StillMoment) -> Pixels:
        """Take the one picture that is wanted, with its transparency, exactly at its time."""
        timeline, at_us = self.settings.timeline, moment.at_ms * 1000
        last = timeline.frame_count - 1
        self._go_to(last)
        if self._next_frame == 0 and at_us > 0:
            # Animations begin with the first frame drawn, also if the picture is soon after it.
            self.page.show(0, 0)
        if moment.is_transparent:
            self.page.make_transparent()
        shown = self.page.show(last, at_us, screenshot=_LOSSLESS)
        self.host.check_sources()
        assert shown.screenshot is not None
        return decode_bgra(base64.b64decode(shown.screenshot))[: self.settings.size.height_px]

    def audio_clips(self) -> tuple[PageAudioClip | LayerAudioClip, ...]:
        """Return what is heard, after the last frame: scripts may have changed it on the way."""
        return (
            self.settings.audio_clips
            if self.settings.is_declarative
            else _audible_clips(self.page, self.settings)
        )

    def save_page_audio(self, folder: Path) -> tuple[PageAudio, ...]:
        """Write what the page's scripts made heard, or its own runtime has delivered."""
        return write_page_audio(self.page, folder, self.settings.timeline)

    def take_captured_count(self) -> int:
        """Return how many frames' pixels were taken since the last call."""
        captured, self._captured_frames = self._captured_frames, 0
        return captured

    def warnings(self) -> tuple[str, ...]:
        """Return what the film's owner should know."""
        unheard = (
            ()
            if self.settings.has_page_audio or not self.page.script_sound.has_begun
            else (_SILENT_AUDIO_CONTEXT,)
        )
        return (*self.page_warnings.collect(), *self.page.script_sound.warnings, *unheard)

    def record(self) -> dict[str, Any]:
        """Return how the frames were taken."""
        return {
            "grabbing": self.grabber.method,
            "fallback_reason": self.fallback_reason,
            "confinement": self.page.browser.confinement,
            "browser": self.page.browser.version,
        }

    def _go_to(self, frame: int) -> None:
        if frame < self._next_frame:
            raise ValueError(f"frame {frame} lies behind frame {self._next_frame}")
        if self.settings.is_declarative and self._next_frame < frame:
            # Animations begin with the first frame drawn, so that one must be frame 0.
            if self._next_frame == 0:
                self.page.show(0, 0)
            self._next_frame = frame
        while self._next_frame < frame:
            self._check_deadline()
            self.page.show(self._next_frame, self.settings.timeline.frame_us(self._next_frame))
            self._next_frame += 1

    def _check_deadline(self) -> None:
        if time.monotonic() > self._deadline:
            raise FilmTookTooLong(
                f"not finished after {self.limits.whole_s:g} s, at frame {self._next_frame} of"
                f" {self.settings.timeline.frame_count}"
            )


@contextmanager
def open_page_renderer(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[PageRenderer]:
    """Load the composition and be ready to film its first frame.

    `fallback_reason` says why raw frames were given up, if they were.
    """
    raw = order.grabbing is GrabMethod.RAW and fallback_reason is None
    viewport = FrameSize(
        order.width_px or DEFAULT_SIZE.width_px, order.height_px or DEFAULT_SIZE.height_px
    )
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
                shot = resolve_film_settings(
                    order, _load(page, notes, host, order=order, limits=limits)
                )
                notes.plan_warnings = shot.warnings
                if shot.size == viewport:
                    # Until the order was read the page did not know how long the film is.
                    shot = replace(shot, audio_clips=_audible_clips(page, shot))
                    with host.raise_missing_sources():
                        initialize_bridge(page, order, shot, within_s=limits.settle_s)
                    page.begin(shot.timeline.fps, frame_within_s=limits.frame_s)
                    reason = fallback_reason or missing
                    yield PageRenderer(page, grabber, shot, limits, reason, notes, host)
                    return
        # The page says another size than it was opened with: open it again as it wants.
        before, viewport = viewport, shot.size
    raise SizeUnsettled(
        f"in a window of {before.width_px}x{before.height_px} the page says that it is"
        f" {viewport.width_px}x{viewport.height_px}, and so on: give it a fixed size, or ask for"
        " width and height"
    )


def _audible_clips(page: Page, shot: FilmSettings) -> tuple[PageAudioClip, ...]:
    film_ms = float(shot.timeline.duration_ms)
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


# Sound is rendered in blocks of a few milliseconds; the last one reaches over the end of the film.
_LAST_BLOCK_US: Final = 20_000


def write_page_audio(page: Page, folder: Path, timeline: Timeline) -> tuple[PageAudio, ...]:
    """Write it into files of that folder, once the last frame was shown; none is silence."""
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
