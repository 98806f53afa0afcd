"""One page, driven frame by frame by a clock that is ours.

Two clocks move a page: frame ticks (CSS, requestAnimationFrame, SMIL) and virtual time (timers,
performance.now, Date). Both start at the same instant and stand still while the page loads, so
frame 0 is time zero for everything. From then on each frame moves both by exactly one frame.
The page side of the contract is `runtime/src/main.ts`.
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
from framekiln.capture.errors import (
    BrowserDied,
    BrowserTimeout,
    PageBlocked,
    PageCrashed,
    PageLeft,
    PageNeverSettled,
    PageThrew,
    ProtocolError,
)
from framekiln.capture.inner_frames import InnerFrames
from framekiln.capture.network import PAGE_URL, PageNetwork
from framekiln.capture.page_scripts import (
    EPOCH_MS,
    REWIND,
    console_line,
    runtime_script,
    thrown_message,
)
from framekiln.kit.errors import FramekilnError

# While loading, virtual time creeps by this much a round: Chromium does no work at a standstill.
_CREEP_US: Final = 1
_MAY_NEED_TIME: Final = ("window.renderReady", "initializer of", "own runtime: ")
_TASK_STEP_US: Final = 1_000
_HELD_STEP_US: Final = 10_000
# Chromium blurs animation times that are not whole tenths of a millisecond with a random secret
# of the process: frames fall on this grid, so that every run draws the same picture.
_TICK_GRID_US: Final = 100
AnyPage = TypeVar("AnyPage", bound="Page")


@dataclass(frozen=True)
class Size:
    """A picture's width and height."""

    width_px: int
    height_px: int


@dataclass(frozen=True)
class PageFacts:
    """What the page says about itself; None where it says nothing."""

    width_px: float | None
    height_px: float | None
    fps: float | None
    duration_ms: float | None
    plan: dict[str, Any] = field(default_factory=dict, compare=False)
    """All that `__framekiln.plan()` says; `runtime/src/plan.ts` names its fields."""


class Page:
    """A loaded page. Made by `open_page`; owned by one thread."""

    def __init__(
        self, browser: Browser, size: Size, *, profile: str, target: str, session: str
    ) -> None:
        self.size = size
        self.browser = browser
        self._connection = browser.connection
        self._profile = profile
        self._session = session
        # A tab and its outermost frame have the same id.
        self._inner = InnerFrames(self._connection, session, main_frame=target)
        self._url = PAGE_URL
        self._runtime_options: dict[str, bool] = {}
        self._step_within_s = 30.0
        self._activity = "loading"
        self._budgets_expired = 0
        self._base_us = time.monotonic_ns() // 1000
        self._virtual_us = 0
        self._tick_us = 0
        self._zero_virtual_us = 0
        self._zero_tick_us = 0
        self._failure: FramekilnError | None = None
        self._has_document = False
        self._rate = ""
        self._has_tasks = False
        self.console: list[str] = []
        self._listen()

    def load(
        self, network: PageNetwork, *, settle_within_s: float, has_files: bool = False
    ) -> PageFacts:
        """Load the document and wait, at time zero, until it is ready to be drawn.

        `has_files` says that files lie beside it, so that relative addresses mean something.
        """
        self._step_within_s = settle_within_s
        network.attach(self._connection, self._session)
        self._stop_the_clocks()
        self._call(
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": runtime_script(has_files=has_files, **self._runtime_options)},
        )
        self._connection.abandon(
            self._connection.post("Page.navigate", {"url": self._url}, session=self._session)
        )
        self._settle(settle_within_s)
        plan = self.evaluate("__framekiln.plan()")
        self._has_tasks = plan["kind"] == "composition" and not plan["isDeclarative"]
        return PageFacts(
            width_px=plan["widthPx"],
            height_px=plan["heightPx"],
            fps=plan["fps"],
            duration_ms=plan["durationMs"],
            plan=plan,
        )

    def begin(self, fps: Fraction, *, frame_within_s: float) -> None:
        """Declare that the next frame shown is at time zero."""
        self._step_within_s = frame_within_s
        self._zero_virtual_us = self._virtual_us
        if self._tick_us > 0:
            # Frames were drawn while the page held us up: frame 0 needs a tick of its own, and
            # what moved meanwhile goes back to where it started.
            self._zero_tick_us = self._tick_us + _TICK_GRID_US
            rewind = f"({REWIND})({self._tick_us / 1000})"
            self.evaluate(rewind)
            self._evaluate_in(self._inner.contexts(), rewind)
        zero = {"virtualMs": self._zero_virtual_us / 1000, "tickMs": self._zero_tick_us / 1000}
        self._rate = json.dumps({"numerator": fps.numerator, "denominator": fps.denominator})
        begin = f"__framekiln.begin({json.dumps(zero)}, {self._rate})"
        self.evaluate(begin)
        self._evaluate_in(self._inner.take_new(), begin)

    def show(self, number: int, at_us: int, *, screenshot: Params | None = None) -> "Shown":
        """Move both clocks to the frame's time and draw it."""
        self._activity = f"drawing frame {number}"
        self._advance(self._zero_virtual_us + at_us - self._virtual_us)
        # A frame that was added since has a clock that began later: it gets the film's time.
        since = f"performance.now() - {at_us / 1000}"
        late = f"__framekiln.begin({{virtualMs: {since}, tickMs: {since}}}, {self._rate})"
        self._evaluate_in(self._inner.take_new(), late)
        on_grid_us = round(at_us / _TICK_GRID_US) * _TICK_GRID_US
        is_first = self._tick_us == 0
        shown = self._draw(self._zero_tick_us + on_grid_us, screenshot=screenshot)
        if is_first and not shown.has_damage and not self.evaluate("__framekiln.hasDrawn()"):
            # Chromium was not ready yet and has done nothing at all for this frame.
            shown = self.redraw(screenshot=screenshot)
        if self._has_tasks and not self.evaluate("__framekiln.frameDone()"):
            self._finish_tasks()
            return self._draw_again(shown, screenshot=screenshot)
        # A browser that has just started sometimes has no picture of its first frame.
        if screenshot is not None and shown.screenshot is None:
            return self._draw_again(shown, screenshot=screenshot)
        return shown

    def raise_late_failure(self) -> None:
        """Raise what a script of the frame drawn last has thrown since."""
        self.evaluate("0")
        self._raise_failure()

    def redraw(self, *, screenshot: Params | None = None) -> "Shown":
        """Draw once more without letting any time pass that a page could notice."""
        return self._draw(self._tick_us + _CREEP_US, screenshot=screenshot)

    def make_transparent(self) -> None:
        """Let what the page leaves empty be empty in screenshots, too."""
        nothing = {"color": {"r": 0, "g": 0, "b": 0, "a": 0}}
        self._call("Emulation.setDefaultBackgroundColorOverride", nothing)

    def evaluate(self, expression: str, *, context: str | None = None) -> Any:
        """Run a script in the page, or in a frame inside it, and return its value."""
        params: Params = {"expression": expression, "returnByValue": True}
        if context is not None:
            params["uniqueContextId"] = context
        result = self._call("Runtime.evaluate", params)
        if "exceptionDetails" in result:
            raise PageThrew(thrown_message(result["exceptionDetails"]))
        return result["result"].get("value")

    def close(self) -> None:
        """End the tab and all it opened or kept; a browser that is gone already is fine."""
        with suppress(FramekilnError):
            self._connection.forget(self._session)
            dispose = {"browserContextId": self._profile}
            self._connection.call("Target.disposeBrowserContext", dispose, session=None, within_s=5)

    def _stop_the_clocks(self) -> None:
        """Freeze virtual time; frame ticks count from the same instant."""
        policy = {"policy": "pause", "initialVirtualTime": EPOCH_MS / 1000}
        answer = self._call("Emulation.setVirtualTimePolicy", policy)
        self._base_us = round(answer["virtualTimeTicksBase"] * 1000)
        self._tick_us = 0

    def _settle(self, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        quiet_rounds = 0
        while quiet_rounds < 2:
            pending = self._pending()
            quiet_rounds = 0 if pending else quiet_rounds + 1
            if time.monotonic() > deadline:
                names = ", ".join(pending[:10])
                raise PageNeverSettled(
                    f"after {within_s:g} s the page was still waiting for: {names}",
                    waiting_for=pending[:10],
                )
            # Nothing is drawn while loading: animations start with the first frame, so that
            # one must be frame 0. Only the page's own promise may depend on frames and timers.
            if pending and all(name.startswith(_MAY_NEED_TIME) for name in pending):
                self.evaluate("__framekiln.step()")
                self._evaluate_in(self._inner.contexts(), "__framekiln.step()")
                self._advance(_HELD_STEP_US)
                self._draw(self._tick_us + _HELD_STEP_US)
            else:
                self._advance(_CREEP_US)

    def _finish_tasks(self) -> None:
        """Wait for the page's own work on this frame; it may need timers of a few milliseconds."""
        deadline = time.monotonic() + self._step_within_s
        step_us = _CREEP_US
        while not self.evaluate("__framekiln.frameDone()"):
            if time.monotonic() > deadline:
                raise PageNeverSettled(
                    f"while {self._activity}, a frame task did not end within"
                    f" {self._step_within_s:g} s",
                    waiting_for=["frame task"],
                )
            self._advance(step_us)
            step_us = min(step_us * 2, _TASK_STEP_US)

    def _draw_again(self, first: "Shown", *, screenshot: Params | None) -> "Shown":
        self.evaluate("__framekiln.repeat()")
        again = self.redraw(screenshot=screenshot)
        return Shown(first.has_damage or again.has_damage, again.screenshot)

    def _evaluate_in(self, contexts: list[str], expression: str) -> None:
        """Run a script in frames inside the page; one that goes meanwhile is no loss."""
        for context in contexts:
            with suppress(ProtocolError):
                self.evaluate(expression, context=context)

    def _pending(self) -> list[str]:
        pending = self.evaluate("window.__framekiln ? __framekiln.pending() : ['document']")
        failure = self.evaluate("window.__framekiln ? __framekiln.failure() : ''")
        if failure:
            raise PageThrew(str(failure))
        return [str(name) for name in pending]

    def _advance(self, by_us: int) -> None:
        """Let virtual time run on; timers due meanwhile fire, pending requests hold it."""
        if by_us <= 0:
            return
        seen = self._budgets_expired
        policy = {"policy": "pauseIfNetworkFetchesPending", "budget": _whole_us(by_us)}
        self._call("Emulation.setVirtualTimePolicy", policy)
        if not self._connection.pump_until(
            lambda: self._budgets_expired > seen, within_s=self._step_within_s
        ):
            raise self._blocked()
        self._virtual_us += by_us
        self._raise_failure()

    def _draw(self, tick_us: int, *, screenshot: Params | None = None) -> "Shown":
        params: Params = {"frameTimeTicks": _whole_us(self._base_us + tick_us), "interval": 16.0}
        if screenshot is not None:
            params["screenshot"] = screenshot
        answer = self._call("HeadlessExperimental.beginFrame", params)
        self._tick_us = tick_us
        self._raise_failure()
        return Shown(has_damage=bool(answer["hasDamage"]), screenshot=answer.get("screenshotData"))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _call(self, method: str, params: Params | None = None) -> dict[str, Any]:
        try:
            return self._connection.call(
                method, params, session=self._session, within_s=self._step_within_s
            )
        except BrowserTimeout as error:
            raise self._blocked() from error

    def _blocked(self) -> FramekilnError:
        if not self.browser.is_alive:
            return BrowserDied("Chromium ended while " + self._activity)
        return PageBlocked(
            f"the page's scripts kept its thread busy for over {self._step_within_s:g} s"
            f" while {self._activity}; is there a loop without end?",
        )

    def _listen(self) -> None:
        heard = {
            "Emulation.virtualTimeBudgetExpired": self._on_budget_expired,
            "Runtime.exceptionThrown": self._on_exception,
            "Runtime.consoleAPICalled": self._on_console,
            "Page.frameNavigated": self._on_navigation,
            "Page.javascriptDialogOpening": self._on_dialog,
            "Inspector.targetCrashed": self._on_crash,
        }
        for event, listener in heard.items():
            self._connection.listen(event, self._session, listener)
        for domain in ("Page", "Runtime", "Inspector"):
            self._call(f"{domain}.enable")

    def _on_budget_expired(self, _params: Params) -> None:
        self._budgets_expired += 1

    def _on_exception(self, params: Params) -> None:
        if self._failure is None:
            self._failure = PageThrew(thrown_message(params["exceptionDetails"]))

    def _on_navigation(self, params: Params) -> None:
        frame = params["frame"]
        if "parentId" in frame:
            return
        if self._has_document and self._failure is None:
            where = str(frame.get("unreachableUrl") or frame.get("url"))[:300]
            self._failure = PageLeft(
                f"the page went to {where} while {self._activity};"
                " a composition is one document and stays on it"
            )
        self._has_document = True

    def _on_console(self, params: Params) -> None:
        if len(self.console) < 100:
            self.console.append(console_line(params))

    def _on_dialog(self, _params: Params) -> None:
        # alert() and its like would hold the page until somebody answers.
        answer = {"accept": False}
        self._connection.abandon(
            self._connection.post("Page.handleJavaScriptDialog", answer, session=self._session)
        )

    def _on_crash(self, _params: Params) -> None:
        raise PageCrashed(f"the page crashed while {self._activity}: out of memory?")


@dataclass(frozen=True)
class Shown:
    """What came of drawing one frame."""

    has_damage: bool
    """Whether any pixel may differ from the frame before."""
    screenshot: str | None
    """Base64 of the picture, if one was asked for."""


def open_page(browser: Browser, size: Size) -> AbstractContextManager[Page]:
    """Open an empty page of that size."""
    return open_tab(browser, size, Page)


@contextmanager
def open_tab(browser: Browser, size: Size, kind: type[AnyPage]) -> Iterator[AnyPage]:
    """Open an empty tab of that size with begin-frame control, in a profile of its own.

    The profile keeps strangers apart: cookies, storage, workers and windows end with the page.
    """
    connection = browser.connection
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


def _whole_us(us: int) -> float:
    """Return milliseconds that Chromium, which cuts off fractions, takes for exactly `us`.

    Without the half, 33.366 ms became 33365 us, and two frames could fall on one tick.
    """
    return (us + 0.5) / 1000
