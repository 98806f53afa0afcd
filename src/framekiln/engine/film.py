"""One composition becomes one MP4: the page is shown frame by frame, straight into the encoder.

Knows no organization, no database and no HTTP; `framekiln render` and the render job both call
`make_film`. Frames are never stored: a minute of raw 1080p at 30 fps is 15 GB.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from framekiln.capture.browser import Browser
from framekiln.capture.grab import Grabber, Grabbing, RawPixelsDiffer, prepare_grabber
from framekiln.capture.network import Lookup, PageNetwork, Resource, nothing
from framekiln.capture.page import Page, PageFacts, Size, open_page
from framekiln.composition.document import as_document
from framekiln.engine.errors import FilmTookTooLong, LengthUnknown
from framekiln.kit.errors import InvalidInput
from framekiln.media.encode import Mp4Encoder, VideoSettings
from framekiln.media.stills import decode_bgra
from framekiln.timeline import Timeline, exact_rate

Report = Callable[[int, int], None]
"""Called with frames done and frames in all. What it raises stops the film."""

DEFAULT_SIZE = Size(1280, 720)
DEFAULT_FPS = Fraction(30)
LONGEST_MS = 6 * 60 * 60 * 1000
LARGEST_SIDE_PX = 8192


@dataclass(frozen=True)
class FilmOrder:
    """What to make; None means: as the composition says."""

    html: str
    width_px: int | None = None
    height_px: int | None = None
    fps: Fraction | None = None
    duration_ms: int | None = None
    lookup: Lookup = nothing
    grabbing: Grabbing = Grabbing.RAW
    """How to take the frames, if it can be done."""


@dataclass(frozen=True)
class FilmLimits:
    """How long things may take before the composition is given up."""

    settle_s: float = 30.0
    frame_s: float = 30.0
    whole_s: float = 3600.0


@dataclass(frozen=True)
class Film:
    """What was made, and how."""

    size: Size
    timeline: Timeline
    grabbing: Grabbing
    fallback_reason: str | None
    confinement: str
    browser: str
    captured_frames: int
    """Frames whose pixels were taken; the others were like the one before."""
    warnings: tuple[str, ...]


def make_film(
    order: FilmOrder,
    browser: Browser,
    path: Path,
    *,
    limits: FilmLimits | None = None,
    report: Report | None = None,
) -> Film:
    """Render the order into `path`, with raw frames first and screenshots if those prove wrong."""
    work = _Work(order, browser, path, limits or FilmLimits(), report or (lambda _done, _all: None))
    try:
        return work.run(raw=order.grabbing is Grabbing.RAW, fallback_reason=None)
    except RawPixelsDiffer as reason:
        return work.run(raw=False, fallback_reason=str(reason))


@dataclass(frozen=True)
class _Shot:
    """What is known once the page has loaded."""

    size: Size
    timeline: Timeline
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Work:
    order: FilmOrder
    browser: Browser
    path: Path
    limits: FilmLimits
    report: Report

    def run(self, *, raw: bool, fallback_reason: str | None) -> Film:
        deadline = time.monotonic() + self.limits.whole_s
        viewport = Size(
            self.order.width_px or DEFAULT_SIZE.width_px,
            self.order.height_px or DEFAULT_SIZE.height_px,
        )
        while True:
            with open_page(self.browser, viewport) as page:
                grabber, missing = prepare_grabber(page, decode_bgra, raw=raw)
                network = self._network()
                facts = page.load(network, settle_within_s=self.limits.settle_s)
                shot = plan_shot(self.order, facts)
                if shot.size == viewport:
                    captured = self._shoot(page, grabber, shot, deadline)
                    return Film(
                        size=shot.size,
                        timeline=shot.timeline,
                        grabbing=grabber.method,
                        fallback_reason=fallback_reason or missing,
                        confinement=self.browser.confinement,
                        browser=self.browser.version,
                        captured_frames=captured,
                        warnings=(*shot.warnings, *_refusals(network)),
                    )
            # The page says another size than it was opened with: open it again as it wants.
            viewport = shot.size

    def _network(self) -> PageNetwork:
        body = as_document(self.order.html).encode()
        return PageNetwork(Resource(body, "text/html; charset=utf-8"), self.order.lookup)

    def _shoot(self, page: Page, grabber: Grabber, shot: _Shot, deadline: float) -> int:
        timeline = shot.timeline
        page.begin(timeline.fps, frame_within_s=self.limits.frame_s)
        settings = VideoSettings(shot.size.width_px, shot.size.height_px, timeline.fps)
        captured = 0
        with Mp4Encoder(self.path, settings) as encoder:
            for number in range(timeline.frame_count):
                if time.monotonic() > deadline:
                    raise FilmTookTooLong(
                        f"not finished after {self.limits.whole_s:g} s, at frame {number} of"
                        f" {timeline.frame_count}"
                    )
                pixels = encoder.buffer()
                if grabber.grab(number, timeline.frame_us(number), pixels):
                    encoder.write(pixels)
                    captured += 1
                else:
                    encoder.give_back(pixels)
                    encoder.repeat()
                self.report(number + 1, timeline.frame_count)
        return captured


def plan_shot(order: FilmOrder, facts: PageFacts) -> _Shot:
    """Settle size, rate and length: the order wins over the page, the page over defaults."""
    width, height = order.width_px or facts.width_px, order.height_px or facts.height_px
    size, warnings = even_size(width or DEFAULT_SIZE.width_px, height or DEFAULT_SIZE.height_px)
    fps = order.fps or (exact_rate(facts.fps) if facts.fps else DEFAULT_FPS)
    duration_ms = order.duration_ms or facts.duration_ms
    if not duration_ms:
        raise LengthUnknown(
            "no duration_ms was given, and the page has neither data-duration-ms nor a finite"
            " animation to take it from"
        )
    if not 1 <= fps <= 120:
        raise InvalidInput(f"the page asks for {float(fps):g} fps; 1 to 120 are possible")
    if duration_ms > LONGEST_MS:
        raise InvalidInput(f"{duration_ms:g} ms is longer than the limit of {LONGEST_MS} ms")
    return _Shot(size, Timeline.lasting(Fraction(duration_ms), fps), warnings)


def even_size(width_px: float, height_px: float) -> tuple[Size, tuple[str, ...]]:
    """Return the size an MP4 can have: whole and even, rounded up, with a warning if changed."""
    size = Size(*(max(2, -(-int(-(-side // 1)) // 2) * 2) for side in (width_px, height_px)))
    if max(size.width_px, size.height_px) > LARGEST_SIDE_PX:
        raise InvalidInput(
            f"the page is {width_px:g}x{height_px:g}; at most {LARGEST_SIDE_PX} pixels a side"
        )
    if (size.width_px, size.height_px) == (width_px, height_px):
        return size, ()
    message = (
        f"size {width_px:g}x{height_px:g} of the composition was rounded up to"
        f" {size.width_px}x{size.height_px}: H.264 needs even sides"
    )
    return size, (message,)


def _refusals(network: PageNetwork) -> tuple[str, ...]:
    return tuple(f"request refused: {url}" for url in network.refused[:20])
