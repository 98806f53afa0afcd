"""A composition on stage: its page loaded at time zero, then filmed slice after slice.

A stage moves forward only. A page whose frames depend on those before it is shown every frame on
the way to a slice, without its pixels being taken; a declarative one jumps there.
"""

import base64
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.capture.grab import Grabber, Grabbing, prepare_grabber
from framekiln.capture.page import Page, PageFacts, Size
from framekiln.composition.document import as_document
from framekiln.engine.digests import FilmDigests
from framekiln.engine.errors import FilmTookTooLong, SizeUnsettled
from framekiln.engine.heard import HeardPiece, MediaWindow, PageSound, heard_windows
from framekiln.engine.missing_media import check_images
from framekiln.engine.order import DEFAULT_SIZE, FilmLimits, FilmOrder, StillMoment
from framekiln.engine.own_runtime import initialize, open_page_for
from framekiln.engine.page_host import PageHost
from framekiln.engine.page_sound import save_sounds
from framekiln.engine.page_warnings import PageWarnings
from framekiln.engine.shot import Shot, plan_shot
from framekiln.engine.slices import Slice
from framekiln.media.imaging.stills import decode_bgra
from framekiln.media.writing.encode import FilmEncoder, VideoSettings

FrameShown = Callable[[int], None]
"""Called with the number of each frame taken. What it raises stops the film."""

# Once to hear the page's size, once to have it, and once more in case that changed what it says.
_OPENINGS: Final = 3
# Lossless either way: the file that is kept is compressed later, and as asked for.
_LOSSLESS: Final = {"format": "png", "optimizeForSpeed": True}
_UNHEARD: Final = (
    "an AudioContext that nobody could foresee is not heard: make it while the page loads, or write"
    " AudioContext into the page or one of its scripts"
)


@dataclass
class Stage:
    """Made by `open_stage`; owned by one thread."""

    page: Page
    grabber: Grabber
    shot: Shot
    limits: FilmLimits
    fallback_reason: str | None
    notes: PageWarnings
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
    def is_foreseen(self) -> bool:
        """Never: nobody knows what a page will do."""
        return False

    def digests(self, slices: Sequence[Slice]) -> FilmDigests:
        """Return none, for the same reason."""
        return FilmDigests((None,) * len(slices))

    def film(self, slice_: Slice, path: Path, shown: FrameShown) -> None:
        """Make one slice; it must not lie behind `next_frame`."""
        self._go_to(slice_.first_frame)
        size, timeline = self.shot.size, self.shot.timeline
        coding = self.shot.picture_coding
        settings = VideoSettings(size.width_px, size.height_px, timeline.fps, coding=coding)
        with FilmEncoder(path, settings) as encoder, self.host.naming_missing_sources():
            for number in range(slice_.first_frame, slice_.end_frame):
                self._check_deadline()
                pixels = encoder.buffer()
                is_edge = number in (slice_.first_frame, slice_.end_frame - 1)
                if self.grabber.grab(number, timeline.frame_us(number), pixels, checked=is_edge):
                    encoder.write(pixels)
                    self._captured_frames += 1
                else:
                    encoder.give_back(pixels)
                    encoder.repeat()
                self._next_frame = number + 1
                shown(number)
            self.page.raise_late_failure()

    def still(self, moment: StillMoment) -> Pixels:
        """Take the one picture that is wanted, with its transparency, exactly at its time."""
        timeline, at_us = self.shot.timeline, moment.at_ms * 1000
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
        return decode_bgra(base64.b64decode(shown.screenshot))[: self.shot.size.height_px]

    def sounds(self) -> tuple[MediaWindow | HeardPiece, ...]:
        """Return what is heard, after the last frame: scripts may have changed it on the way."""
        return self.shot.sounds if self.shot.is_declarative else _heard(self.page, self.shot)

    def save_sounds(self, folder: Path) -> tuple[PageSound, ...]:
        """Write what the page's scripts made heard, or its own runtime has delivered."""
        return save_sounds(self.page, folder, self.shot.timeline)

    def take_captured(self) -> int:
        """Return how many frames' pixels were taken since the last call."""
        captured, self._captured_frames = self._captured_frames, 0
        return captured

    def warnings(self) -> tuple[str, ...]:
        """Return what the film's owner should know."""
        unheard = (
            () if self.shot.has_page_sound or not self.page.script_sound.has_begun else (_UNHEARD,)
        )
        return (*self.notes.all(), *self.page.script_sound.warnings, *unheard)

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
        if self.shot.is_declarative and self._next_frame < frame:
            # Animations begin with the first frame drawn, so that one must be frame 0.
            if self._next_frame == 0:
                self.page.show(0, 0)
            self._next_frame = frame
        while self._next_frame < frame:
            self._check_deadline()
            self.page.show(self._next_frame, self.shot.timeline.frame_us(self._next_frame))
            self._next_frame += 1

    def _check_deadline(self) -> None:
        if time.monotonic() > self._deadline:
            raise FilmTookTooLong(
                f"not finished after {self.limits.whole_s:g} s, at frame {self._next_frame} of"
                f" {self.shot.timeline.frame_count}"
            )


@contextmanager
def open_stage(
    order: FilmOrder, browser: Browser, limits: FilmLimits, *, fallback_reason: str | None = None
) -> Iterator[Stage]:
    """Load the composition and be ready to film its first frame.

    `fallback_reason` says why raw frames were given up, if they were.
    """
    raw = order.grabbing is Grabbing.RAW and fallback_reason is None
    viewport = Size(
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
            with notes.explaining():
                shot = plan_shot(order, _load(page, notes, host, order=order, limits=limits))
                notes.planned = shot.warnings
                if shot.size == viewport:
                    # Until the order was read the page did not know how long the film is.
                    shot = replace(shot, sounds=_heard(page, shot))
                    with host.naming_missing_sources():
                        initialize(page, order, shot, within_s=limits.settle_s)
                    page.begin(shot.timeline.fps, frame_within_s=limits.frame_s)
                    reason = fallback_reason or missing
                    yield Stage(page, grabber, shot, limits, reason, notes, host)
                    return
        # The page says another size than it was opened with: open it again as it wants.
        before, viewport = viewport, shot.size
    raise SizeUnsettled(
        f"in a window of {before.width_px}x{before.height_px} the page says that it is"
        f" {viewport.width_px}x{viewport.height_px}, and so on: give it a fixed size, or ask for"
        " width and height"
    )


def _heard(page: Page, shot: Shot) -> tuple[MediaWindow, ...]:
    film_ms = float(shot.timeline.duration_ms)
    return heard_windows(page.evaluate(f"__framekiln.media({film_ms})"), film_ms=film_ms)


def _load(
    page: Page, notes: PageWarnings, host: PageHost, *, order: FilmOrder, limits: FilmLimits
) -> PageFacts:
    with host.naming_missing_sources():
        facts = page.load(
            notes.network, settle_within_s=limits.settle_s, has_files=order.site is not None
        )
    notes.look()
    check_images(page, host.reasons, order.site)
    return facts
