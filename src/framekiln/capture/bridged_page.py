"""A page with its own elements and runtime: it receives each frame number and reports readiness.

Such a page looks for a bridge to its renderer (`runtime/src/bridge.ts`). Through the bridge it
receives the render options, seeks to each requested frame, and reports when the frame is ready.
With the last frame it delivers the audio of the whole film. It paints the frame number on the
bottom row of its window: see `FrameStrip`.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any, Final

from framekiln.capture.browser import Browser
from framekiln.capture.cdp import Params
from framekiln.capture.errors import PageNeverSettled, PageThrew
from framekiln.capture.network import PageNetwork
from framekiln.capture.page import FrameSize, Page, PageFacts, open_tab
from framekiln.capture.page_clock import DrawnFrame
from framekiln.capture.readiness import settle

STRIP_ROWS: Final = 1
"""The window of such a page is taller than the film by this much."""
SAMPLE_BYTES: Final = 8
"""Two channels of float32."""
RATE_HZ: Final = 48_000
# The page rounds its audio up to whole blocks of its encoder.
_BLOCK_SAMPLES: Final = 1024
_PIECE_BYTES: Final = 6 << 20
# Most pages reach their frame within a few microtasks; then it is drawn once. A page that requests
# animation frames itself is drawn meanwhile.
_QUIET_ROUNDS: Final = 24
_FIRST_STEP_US: Final = 1
_MAX_STEP_US: Final = 1_000


@dataclass(frozen=True)
class BridgeWindow:
    """The part to render: frame n is at `from_ms + n / fps`."""

    size: FrameSize
    fps: Fraction
    frame_count: int
    from_ms: int = 0
    is_still: bool = False
    """Whether only one image is requested, that at `from_ms`, without audio."""

    def options(self) -> dict[str, Any]:
        """Return the options in the format of the bridge."""
        to_ms = self.from_ms + self.frame_count * 1000 / self.fps
        block_us = Fraction(_BLOCK_SAMPLES * 1_000_000, RATE_HZ)
        first, end = self.from_ms * 1000 // block_us, ceil(to_ms * 1000 / block_us)
        return {
            "encoderOptions": {
                "fromMs": self.from_ms,
                "toMs": float(to_ms),
                "alignedFromUs": round(first * block_us),
                "alignedToUs": round(end * block_us),
                "video": {
                    "width": self.size.width_px,
                    "height": self.size.height_px,
                    "framerate": float(self.fps),
                },
            }
        }

    @property
    def sound_bytes(self) -> int:
        """The size of the used audio; a page may deliver a little more."""
        return round(self.frame_count * RATE_HZ / self.fps) * SAMPLE_BYTES


class BridgedPage(Page):
    """Made by `open_bridged_page`; call `initialize` between `load` and `begin`."""

    def __init__(
        self, browser: Browser, size: FrameSize, *, profile: str, target: str, session: str
    ) -> None:
        super().__init__(browser, size, profile=profile, target=target, session=session)
        self._window = BridgeWindow(size, Fraction(1), 1)
        # The option of such runtimes for: no controls, no editor around the composition.
        self._url += "?EF_NONINTERACTIVE=1"
        self._runtime_options = {"defines_elements": False}

    def ask_info(self) -> None:
        """Have the page report size, frame rate and duration; call this before `load`."""
        self._runtime_options["asks_info"] = True

    def load(
        self, network: PageNetwork, *, settle_within_s: float, has_files: bool = False
    ) -> PageFacts:
        """Load the document and wait until its runtime can be initialized."""
        facts = super().load(network, settle_within_s=settle_within_s, has_files=has_files)
        if facts.height_px != self.size.height_px:
            return facts
        # A page that fills its window also fills the row of the strip.
        return replace(facts, height_px=facts.height_px - STRIP_ROWS)

    def initialize(self, window: BridgeWindow, *, within_s: float) -> None:
        """Send the render options to the page, and wait until it is ready."""
        self._session.activity = "initializing the page's own runtime"
        self._window = window
        self.evaluate(f"__framekiln.initialize({json.dumps(window.options())})")
        settle(self._session, self._clock, within_s=within_s)

    def show(self, number: int, at_us: int, *, screenshot: Params | None = None) -> DrawnFrame:
        """Seek the page to the frame, then draw it."""
        self._session.activity = f"drawing frame {number}"
        self._clock.advance_to(at_us)
        is_still = self._window.is_still
        shown = 0 if is_still else number
        is_last = not is_still and number == self._window.frame_count - 1
        self.evaluate(f"__framekiln.beginFrame({shown}, {json.dumps(is_last)})")
        if self._is_there_soon():
            return super().show(number, at_us, screenshot=screenshot)
        super().show(number, at_us)
        self._draw_until_frame(number)
        return DrawnFrame(has_damage=True, screenshot=self.redraw(screenshot=screenshot).screenshot)

    def raise_late_failure(self) -> None:
        """Raise errors of scripts or of the page's runtime since the last frame."""
        super().raise_late_failure()
        self._is_there()

    def sound(self) -> Iterator[bytes]:
        """Yield the audio that came with the last frame: float32, two interleaved channels."""
        length = min(int(self.evaluate("__framekiln.soundBytes()")), self._window.sound_bytes)
        for start in range(0, length, _PIECE_BYTES):
            end = min(start + _PIECE_BYTES, length)
            yield base64.b64decode(self.evaluate(f"__framekiln.soundPiece({start}, {end})"))

    def _is_there(self) -> bool:
        state = self.evaluate("__framekiln.frameState()")
        if state["failure"]:
            raise PageThrew(str(state["failure"]))
        return bool(state["isDone"])

    def _is_there_soon(self) -> bool:
        step_us = _FIRST_STEP_US
        for _ in range(_QUIET_ROUNDS):
            if self._is_there():
                return True
            self._clock.advance(step_us)
            step_us = min(step_us * 2, _MAX_STEP_US)
        return self._is_there()

    def _draw_until_frame(self, number: int) -> None:
        within_s = self._session.within_s
        deadline = self._session.now_s + within_s
        while not self._is_there():
            if self._session.now_s > deadline:
                raise PageNeverSettled(
                    f"while {self._session.activity}, the page's own runtime did not say that the"
                    f" frame is ready within {within_s:g} s: frameReady({number}) was not called",
                    waiting_for=[f"frameReady({number})"],
                )
            self._clock.advance(_MAX_STEP_US)
            self.redraw()


def open_bridged_page(browser: Browser, size: FrameSize) -> AbstractContextManager[BridgedPage]:
    """Open an empty page for a film of that size; its window has an extra row for the strip."""
    window = FrameSize(size.width_px, size.height_px + STRIP_ROWS)
    return open_tab(browser, window, BridgedPage)
