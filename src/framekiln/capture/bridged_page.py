"""A page with elements and a runtime of its own: told each frame's number, and waited for.

Such a page looks for a bridge to its renderer (`runtime/src/bridge.ts`), is told through it what
will be filmed, then goes to each frame it is told and says when it is there. With the last frame it
delivers the sound of the whole film. On the bottom row of its window it paints the frame's number:
see `frame_strip.py`.
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
"""How much taller the window of such a page is than the film."""
SAMPLE_BYTES: Final = 8
"""Two channels of float32."""
RATE_HZ: Final = 48_000
# The page rounds its sound to whole blocks of its encoder.
_BLOCK_SAMPLES: Final = 1024
_PIECE_BYTES: Final = 6 << 20
# Most pages are at their frame within a few microtasks: then it is drawn once. One that asks for
# animation frames itself is drawn meanwhile.
_QUIET_ROUNDS: Final = 24
_FIRST_STEP_US: Final = 1
_LONGEST_STEP_US: Final = 1_000


@dataclass(frozen=True)
class BridgeWindow:
    """What will be filmed: frame n is at `from_ms + n / fps`."""

    size: FrameSize
    fps: Fraction
    frame_count: int
    from_ms: int = 0
    is_still: bool = False
    """Whether one picture is wanted, that at `from_ms`, and no sound."""

    def options(self) -> dict[str, Any]:
        """Return it in the words of the bridge."""
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
        """How much sound is used; a page may deliver a little more."""
        return round(self.frame_count * RATE_HZ / self.fps) * SAMPLE_BYTES


class BridgedPage(Page):
    """Made by `open_bridged_page`; told what to show by `initialize`, between load and begin."""

    def __init__(
        self, browser: Browser, size: FrameSize, *, profile: str, target: str, session: str
    ) -> None:
        super().__init__(browser, size, profile=profile, target=target, session=session)
        self._window = BridgeWindow(size, Fraction(1), 1)
        # Its word for: no controls, no editor around the composition.
        self._url += "?EF_NONINTERACTIVE=1"
        self._runtime_options = {"defines_elements": False}

    def ask_info(self) -> None:
        """Have the page tell size, rate and length; said before it is loaded."""
        self._runtime_options["asks_info"] = True

    def load(
        self, network: PageNetwork, *, settle_within_s: float, has_files: bool = False
    ) -> PageFacts:
        """Load the document and wait until its runtime may be told what will be filmed."""
        facts = super().load(network, settle_within_s=settle_within_s, has_files=has_files)
        if facts.height_px != self.size.height_px:
            return facts
        # A page that fills its window fills the row of the strip, too.
        return replace(facts, height_px=facts.height_px - STRIP_ROWS)

    def initialize(self, window: BridgeWindow, *, within_s: float) -> None:
        """Tell the page what will be filmed, and wait until it is ready for that."""
        self._session.activity = "initializing the page's own runtime"
        self._window = window
        self.evaluate(f"__framekiln.initialize({json.dumps(window.options())})")
        settle(self._session, self._clock, within_s=within_s)

    def show(self, number: int, at_us: int, *, screenshot: Params | None = None) -> DrawnFrame:
        """Have the page go to the frame, then draw it."""
        self._session.activity = f"drawing frame {number}"
        self._clock.advance_to(at_us)
        is_still = self._window.is_still
        told = 0 if is_still else number
        is_last = not is_still and number == self._window.frame_count - 1
        self.evaluate(f"__framekiln.beginFrame({told}, {json.dumps(is_last)})")
        if self._is_there_soon():
            return super().show(number, at_us, screenshot=screenshot)
        super().show(number, at_us)
        self._draw_until_there(number)
        return DrawnFrame(has_damage=True, screenshot=self.redraw(screenshot=screenshot).screenshot)

    def raise_late_failure(self) -> None:
        """Raise what a script has thrown, or the page's runtime reported, since the last frame."""
        super().raise_late_failure()
        self._is_there()

    def sound(self) -> Iterator[bytes]:
        """Yield the sound that came with the last frame: float32, two channels in turn."""
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
            step_us = min(step_us * 2, _LONGEST_STEP_US)
        return self._is_there()

    def _draw_until_there(self, number: int) -> None:
        within_s = self._session.within_s
        deadline = self._session.now_s + within_s
        while not self._is_there():
            if self._session.now_s > deadline:
                raise PageNeverSettled(
                    f"while {self._session.activity}, the page's own runtime did not say that the"
                    f" frame is ready within {within_s:g} s: frameReady({number}) was not called",
                    waiting_for=[f"frameReady({number})"],
                )
            self._clock.advance(_LONGEST_STEP_US)
            self.redraw()


def open_bridged_page(browser: Browser, size: FrameSize) -> AbstractContextManager[BridgedPage]:
    """Open an empty page for a film of that size; the page's window has room for the strip."""
    window = FrameSize(size.width_px, size.height_px + STRIP_ROWS)
    return open_tab(browser, window, BridgedPage)
