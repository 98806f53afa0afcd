"""Pages as layers: driven by the film's clock in Chromium, captured only after changes.

A page only moves forward. A page whose frames depend on earlier ones is shown each of them on the
way, and is reopened to go back.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from framekiln.capture.browser import Browser
from framekiln.capture.grabber import Grabber, prepare_grabber
from framekiln.capture.page import LOSSLESS, FrameSize, Page, open_page
from framekiln.capture.screenshot import read_png
from framekiln.composition.document import Document
from framekiln.composition.layers import LayerState, PixelSize
from framekiln.compositor.picture import Rgba, premultiplied
from framekiln.engine.assets import Assets
from framekiln.engine.audio_clips import audible_clips
from framekiln.engine.film_order import FilmLimits
from framekiln.engine.layers.painter import SourceImage
from framekiln.engine.missing_media import check_images
from framekiln.engine.page.host import PageHost
from framekiln.engine.page.warnings import PageWarnings
from framekiln.kit.warning_text import WarningText
from framekiln.media.images.stills import decode_bgra

Seek = Callable[[Fraction], str]
"""Returns the script that seeks a page to a time."""


@dataclass(frozen=True)
class LayerPage:
    """A page to show; `prepare` is a script that runs once after loading.

    It is laid out at a size in CSS pixels, and drawn at `size`.
    """

    document: Document
    size: FrameSize
    layout: FrameSize
    fps: Fraction
    is_transparent: bool
    prepare: str = ""
    seek: Seek | None = None


class PagePainter:
    """The page of one layer; its content is determined on first use."""

    def __init__(
        self,
        make_order: Callable[[], LayerPage],
        browser: Browser,
        assets: Assets,
        limits: FilmLimits,
        *,
        warn: Callable[[str], None],
        raw: bool = True,
    ) -> None:
        self._make_order = make_order
        self._browser = browser
        self._assets = assets
        self._limits = limits
        self._warn = warn
        self._raw = raw
        self._open = ExitStack()
        self._page: _OpenPage | None = None
        self._version = 0
        self._sheet: Rgba | None = None

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """None: it has the size of its box."""
        return None

    def image(self, state: LayerState) -> SourceImage:
        """Return the page at the state's source time."""
        if self._page is None or state.source_s < self._page.at_s:
            self.close()
            self._page = self._opened()
        sheet = self._page.show(state.source_s)
        if sheet is not None:
            self._sheet = sheet
            self._version += 1
        assert self._sheet is not None
        return SourceImage(("page", self._version), sheet=self._sheet)

    def close(self) -> None:
        """Close the page."""
        self._open.close()
        self._page = self._sheet = None

    def _opened(self) -> "_OpenPage":
        order, limits = self._make_order(), self._limits
        page = self._open.enter_context(open_page(self._browser, order.size))
        host = self._open.enter_context(PageHost(self._assets, self._browser))
        grabber: Grabber | None = None
        if order.is_transparent:
            # Frame memory is opaque; only a screenshot has alpha.
            page.make_transparent()
        else:
            grabber, _ = prepare_grabber(page, decode_bgra, raw=self._raw)
        if order.layout != order.size:
            page.lay_out_at(order.layout)
        network = host.network(order.document)
        notes = PageWarnings(page, network, host)
        with notes.explain_errors():
            facts = page.load(network, settle_within_s=limits.settle_s)
            notes.check()
            check_images(page, host.fetch_errors)
        for warning in (*notes.collect(), *_about_sounds(facts.plan)):
            self._warn(warning)
        if order.prepare:
            page.evaluate(order.prepare)
        page.begin(order.fps, frame_within_s=limits.frame_s)
        jumps = order.seek is not None or bool(facts.plan.get("isDeclarative"))
        return _OpenPage(page, grabber, order, jumps=jumps)


class _OpenPage:
    """A loaded page and its current time."""

    def __init__(
        self, page: Page, grabber: Grabber | None, order: LayerPage, *, jumps: bool
    ) -> None:
        self.at_s = Fraction(-1)
        self._page = page
        self._grabber = grabber
        self._order = order
        self._jumps = jumps
        self._number = -1

    def show(self, at_s: Fraction) -> Rgba | None:
        """Go to a time; return None if nothing has changed since the last one."""
        if at_s == self.at_s:
            return None
        is_first = self._number < 0
        self._seek_near(at_s)
        if self._order.seek is not None:
            self._page.evaluate(self._order.seek(at_s))
        self._number += 1
        self.at_s = at_s
        return self._grab(_us(at_s), is_first=is_first)

    def _seek_near(self, at_s: Fraction) -> None:
        """Show earlier frames first; animations start with the first drawn frame."""
        frame_s = 1 / self._order.fps
        if self._number < 0 and at_s > 0:
            self._step(Fraction(0))
        # The first frame of a page that is at its start already has none before it.
        while not self._jumps and self._number >= 0 and self.at_s + frame_s < at_s:
            self._step(self.at_s + frame_s)

    def _step(self, at_s: Fraction) -> None:
        self._number += 1
        self._page.show(self._number, _us(at_s))
        self.at_s = at_s

    def _grab(self, at_us: int, *, is_first: bool) -> Rgba | None:
        size = self._order.size
        if self._grabber is not None:
            pixels = np.empty((size.height_px, size.width_px, 4), np.uint8)
            if not self._grabber.grab(self._number, at_us, pixels, checked=is_first):
                return None
            opaque: Rgba = pixels[..., [2, 1, 0, 3]]
            opaque[..., 3] = 255
            return opaque
        # Drawing again costs less than a screenshot of each frame, but runs its scripts twice.
        shown = self._page.show(self._number, at_us, screenshot=None if self._jumps else LOSSLESS)
        if not shown.has_damage and not is_first:
            return None
        for _ in range(2):
            if shown.screenshot is None:
                shown = self._page.redraw(screenshot=LOSSLESS)
        assert shown.screenshot is not None
        pixels = decode_bgra(read_png(shown.screenshot, self._page.size))
        return premultiplied(pixels[: size.height_px, : size.width_px, [2, 1, 0, 3]])


def _about_sounds(plan: dict[str, Any]) -> Iterator[str]:
    """Yield a warning for each element whose sound would be in the film of the page alone."""
    clips = audible_clips(plan.get("media", ()), film_ms=0)
    for element in dict.fromkeys(clip.element for clip in clips):
        yield WarningText(
            "sound_left_out",
            f"{element}: sound of a page that is a layer is not in the film: mute the element, and"
            " give its file to an audio layer",
        )


def _us(at_s: Fraction) -> int:
    return round(at_s * 1_000_000)
