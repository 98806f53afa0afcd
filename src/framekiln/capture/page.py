"""One page, driven frame by frame by our clock.

Both of its clocks are stopped while the page loads, so frame 0 is time zero for everything. After
that, each frame advances both by exactly one frame. `runtime/src/main.ts` is the page side of the
contract.
"""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeVar

from framekiln.capture.browser import Browser
from framekiln.capture.cdp import Params
from framekiln.capture.errors import BrowserTimeout
from framekiln.capture.network import PAGE_URL, Mention, PageNetwork
from framekiln.capture.page_clock import CREEP_US, TICK_GRID_US, DrawnFrame, PageClock
from framekiln.capture.page_scripts import data_script, runtime_script
from framekiln.capture.page_session import ConsoleEntry, PageSession
from framekiln.capture.page_workers import PageWorkers
from framekiln.capture.readiness import settle, wait_for_frame_tasks
from framekiln.capture.web_audio import ContextSound, WebAudio
from framekiln.kit.errors import FramekilnError

_FIRST_FRAME_PAUSE_S: Final = 0.002
LOSSLESS: Final = {"format": "png", "optimizeForSpeed": True}
"""Options of a screenshot that only we read."""

AnyPage = TypeVar("AnyPage", bound="Page")


@dataclass(frozen=True)
class FrameSize:
    """Width and height of a frame."""

    width_px: int
    height_px: int


@dataclass(frozen=True)
class PageFacts:
    """The properties that the page reports; None where it reports nothing."""

    width_px: float | None
    height_px: float | None
    fps: float | None
    duration_ms: float | None
    plan: dict[str, Any] = field(default_factory=dict, compare=False)
    """The result of `__framekiln.plan()`; `runtime/src/plan.ts` defines its fields."""


class Page:
    """A loaded page. Made by `open_page`; owned by one thread."""

    def __init__(
        self, browser: Browser, size: FrameSize, *, profile: str, target: str, session: str
    ) -> None:
        self.size = size
        self.browser = browser
        self.data: str | None = None
        """The render data for scripts of the page: JSON, set before it is loaded."""
        self._profile = profile
        self._session = PageSession(browser, target=target, session=session)
        self._clock = PageClock(self._session)
        self._sound = WebAudio(self._session, self._clock)
        self._workers = PageWorkers(self._session, self._clock)
        self._url = PAGE_URL
        self._runtime_options: dict[str, bool] = {}
        self._rate = ""
        self._network: PageNetwork | None = None
        self._has_tasks = False
        self._has_drawn = False

    def reported_problems(self) -> tuple[str, ...]:
        """Return the problems that the page itself reported, as shown to its owner."""
        return self._session.reported_problems()

    def console(self) -> tuple[ConsoleEntry, ...]:
        """Return what scripts wrote to their console so far."""
        return self._session.console()

    def mistakes(self) -> dict[str, Any]:
        """Return probable mistakes of the author; `runtime/src/mistakes.ts` defines them."""
        found: dict[str, Any] = self.evaluate("__framekiln.mistakes()")
        return found

    def load(
        self, network: PageNetwork, *, settle_within_s: float, has_files: bool = False
    ) -> PageFacts:
        """Load the document and wait, at time zero, until it is ready to be drawn.

        `has_files` means that it has local files, so that relative URLs can be resolved.
        """
        self._session.within_s = settle_within_s
        self._session.attach(network)
        self._network = network
        self._sound.listen()
        if self._runtime_options.get("defines_elements", True):
            self._workers.listen()
        self._clock.stop()
        runtime = runtime_script(has_files=has_files, **self._runtime_options)
        for source in (runtime, *(() if self.data is None else (data_script(self.data),))):
            self._session.call("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        self._session.post("Page.navigate", {"url": self._url})
        settle(self._session, self._clock, within_s=settle_within_s)
        plan = self.evaluate("__framekiln.plan()")
        has_sound = self._sound.has_begun or self._mentions(Mention.WEB_AUDIO)
        if has_sound and not plan.get("mixesSound"):
            # Any frame may start audio, and all later frames depend on it.
            plan |= {"mixesSound": True, "isDeclarative": False}
        if network.has_moving_drawings:
            plan |= {"isDeclarative": False}
        self._has_tasks = plan["kind"] == "composition" and not plan["isDeclarative"]
        return PageFacts(
            width_px=plan["widthPx"],
            height_px=plan["heightPx"],
            fps=plan["fps"],
            duration_ms=plan["durationMs"],
            plan=plan,
        )

    def begin(self, fps: Fraction, *, frame_within_s: float) -> None:
        """Start the film: the next frame shown is at time zero."""
        session, inner = self._session, self._session.inner
        session.within_s = frame_within_s
        if self._clock.tick_us > 0:
            # Animations that moved while the page delayed readiness are rewound to their start.
            rewind = f"__framekiln.rewind({self._clock.tick_us / 1000})"
            session.evaluate(rewind)
            session.evaluate_inside(inner.contexts(), rewind)
        zero = self._clock.set_zero()
        self._has_drawn = False
        self._rate = json.dumps({"numerator": fps.numerator, "denominator": fps.denominator})
        begin = f"__framekiln.begin({json.dumps(zero)}, {self._rate})"
        session.evaluate(begin)
        session.evaluate_inside(inner.take_new(), begin)
        # Frames of an external runtime wait for its requests.
        if self._network is not None and self._runtime_options.get("defines_elements", True):
            self._network.is_running = True

    def show(self, number: int, at_us: int, *, screenshot: Params | None = None) -> DrawnFrame:
        """Advance both clocks to the frame's time and draw it."""
        self._session.activity = f"drawing frame {number}"
        self._sound.advance_to(at_us)
        # An iframe that was added since has a later clock: it gets the film's time.
        since = f"performance.now() - {at_us / 1000}"
        late = f"__framekiln.begin({{virtualMs: {since}, tickMs: {since}}}, {self._rate})"
        self._session.evaluate_inside(self._session.inner.take_new(), late)
        shown = self._clock.draw_at(at_us, screenshot=screenshot)
        if not self._has_drawn:
            shown = self._draw_first(shown, at_us, screenshot=screenshot)
        if self._has_tasks and not self.evaluate("__framekiln.frameDone()"):
            wait_for_frame_tasks(self._session, self._clock)
            shown = self._draw_again(shown, screenshot=screenshot)
        shown = self._workers.finish(
            shown,
            lambda: self._repeat(screenshot=screenshot),
            has_own_canvas=self._mentions(Mention.OFFSCREEN_CANVAS),
        )
        # A new browser sometimes returns no screenshot of its first frame.
        if screenshot is not None and shown.screenshot is None:
            return self._draw_again(shown, screenshot=screenshot)
        return shown

    def skip(self, number: int, at_us: int) -> None:
        """Advance both clocks to the frame's time and run its scripts, but draw nothing."""
        # They go on only with what is drawn.
        if self._workers.has_any or self._mentions(Mention.VIEW_TRANSITION):
            self.show(number, at_us)
            return
        self._session.activity = f"running the scripts of frame {number}"
        self._sound.advance_to(at_us)
        self._clock.draw_at(at_us, is_shown=False)
        if self._has_tasks and not self.evaluate("__framekiln.frameDone()"):
            wait_for_frame_tasks(self._session, self._clock)

    def frame_inputs(self, frame_count: int) -> dict[str, Any]:
        """Return what frames depend on, before the first; `runtime/src/frame_inputs.ts` knows."""
        found: dict[str, Any] = self.evaluate(
            f"__framekiln.frameInputs({self._rate}, {frame_count})"
        )
        return found

    def still_until(self, frame: int, frame_count: int) -> int:
        """Return the first frame after one that is shown that may look different.

        0 means that the page may change in any frame.
        """
        found = self.evaluate(f"__framekiln.stillUntil({frame}, {self._rate}, {frame_count})")
        # Scripts of the page may have put something else in its place.
        return found if type(found) is int else 0

    def frames_before(self, frame: int) -> list[int]:
        """Return the frames to draw before a jump; `runtime/src/scale_history.ts` knows why."""
        found: list[int] = self.evaluate(f"__framekiln.framesBefore({frame}, {self._rate})")
        return found

    def begin_recording(self, fps: Fraction, *, frame_within_s: float) -> None:
        """Get ready to record what scripts change in each frame; the page is never shown."""
        self._session.within_s = frame_within_s
        zero = json.dumps(self._clock.set_zero())
        self._rate = json.dumps({"numerator": fps.numerator, "denominator": fps.denominator})
        self._session.evaluate(f"__framekiln.beginRecording({zero}, {self._rate})")

    def record(self, number: int, at_us: int) -> None:
        """Run the scripts of the next frame, and record what they change."""
        self._session.activity = f"running the scripts of frame {number}"
        self._clock.advance_to(at_us)
        self.evaluate(f"__framekiln.recordFrame({number}, {self._rate})")
        while not self.evaluate(f"__framekiln.closeFrame({number})"):
            wait_for_frame_tasks(self._session, self._clock)
        self._session.raise_failure()

    @property
    def has_waited(self) -> bool:
        """Whether frames were drawn before frame 0."""
        return self._clock.zero_tick_us > 0

    def raise_late_failure(self) -> None:
        """Raise errors that scripts of the last frame have thrown since it was drawn."""
        self.evaluate("0")
        self._session.raise_failure()

    @property
    def script_sound(self) -> WebAudio:
        """The Web Audio of its scripts."""
        return self._sound

    def finish_sound(self, end_us: int) -> list[ContextSound]:
        """Return the audio of the page's scripts up to the end of the film."""
        self._session.activity = "rendering the sound of its scripts"
        self._sound.finish(end_us)
        return self._sound.sounds()

    def redraw(self, *, screenshot: Params | None = None) -> DrawnFrame:
        """Draw again without advancing time noticeably for the page."""
        return self._clock.draw_after(CREEP_US, screenshot=screenshot)

    def lay_out_at(self, size: FrameSize) -> None:
        """Lay the page out in a smaller window, and draw that as large as its own window.

        Texts and edges are as sharp as in a larger page. Raw frames must have been located before.
        """
        factors = self.size.width_px / size.width_px, self.size.height_px / size.height_px
        layout = {
            "width": size.width_px,
            "height": size.height_px,
            "scale": max(factors),
            "deviceScaleFactor": 1,
            "mobile": False,
            "dontSetVisibleSize": True,
        }
        self._session.call("Emulation.setDeviceMetricsOverride", layout)

    def make_transparent(self) -> None:
        """Give screenshots a transparent background."""
        nothing = {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}
        self._session.call("Emulation.setDefaultBackgroundColorOverride", nothing)

    def evaluate(self, expression: str) -> Any:
        """Run a script in the page and return its value."""
        return self._session.evaluate(expression)

    def close(self) -> None:
        """Close the tab and everything it opened or stored; the browser may have exited already."""
        self._sound.close()
        with suppress(FramekilnError):
            self._session.forget()
            dispose = {"browserContextId": self._profile}
            self.browser.connection.call(
                "Target.disposeBrowserContext", dispose, session=None, within_s=5
            )

    def _mentions(self, what: Mention) -> bool:
        return self._network is not None and what in self._network.mentions

    def _draw_first(
        self, shown: DrawnFrame, at_us: int, *, screenshot: Params | None
    ) -> DrawnFrame:
        """Draw until the page responds: a busy Chromium may not draw at first."""
        deadline = self._session.now_s + self._session.within_s
        while not self.evaluate("__framekiln.hasDrawn()"):
            if self._session.now_s > deadline:
                raise BrowserTimeout(f"Chromium drew nothing while {self._session.activity}")
            time.sleep(_FIRST_FRAME_PAUSE_S)
            shown = self._clock.draw_at(at_us, screenshot=screenshot)
        self._has_drawn = True
        return shown

    def _repeat(self, *, screenshot: Params | None) -> DrawnFrame:
        """Draw the current frame again, with the page's own animations at their exact time."""
        self.evaluate("__framekiln.repeat()")
        return self._clock.draw_after(TICK_GRID_US, screenshot=screenshot)

    def _draw_again(self, first: DrawnFrame, *, screenshot: Params | None) -> DrawnFrame:
        self.evaluate("__framekiln.repeat()")
        again = self.redraw(screenshot=screenshot)
        return DrawnFrame(first.has_damage or again.has_damage, again.screenshot)


def open_page(browser: Browser, size: FrameSize) -> AbstractContextManager[Page]:
    """Open an empty page of that size."""
    return open_tab(browser, size, Page)


@contextmanager
def open_tab(browser: Browser, size: FrameSize, kind: type[AnyPage]) -> Iterator[AnyPage]:
    """Open an empty tab of that size with begin-frame control, in its own profile.

    The profile isolates pages of different owners: cookies, storage, workers and windows end with
    the page.
    """
    connection = browser.connection
    # A screenshot is one message: up to four bytes for each pixel, in base64.
    picture_bytes = 6 * size.width_px * size.height_px
    connection.max_message_bytes = max(connection.max_message_bytes, picture_bytes)
    profile = connection.call("Target.createBrowserContext", session=None, within_s=30)[
        "browserContextId"
    ]
    create = {
        "url": "about:blank",
        "browserContextId": profile,
        "width": size.width_px,
        "height": size.height_px,
        "enableBeginFrameControl": True,
    }
    target = connection.call("Target.createTarget", create, session=None, within_s=30)["targetId"]
    attach = {"targetId": target, "flatten": True}
    session = connection.call("Target.attachToTarget", attach, session=None, within_s=30)[
        "sessionId"
    ]
    page = kind(browser, size, profile=profile, target=target, session=session)
    try:
        yield page
    finally:
        page.close()
