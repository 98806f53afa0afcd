"""The protocol session of a page, and its events: errors, navigation, crashes, console.

Does not move any clock. Failures between calls are stored, and raised by the next check.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from framekiln.capture.browser import Browser
from framekiln.capture.cdp import Params
from framekiln.capture.errors import (
    BrowserDied,
    BrowserTimeout,
    FrameStalled,
    PageBlocked,
    PageCrashed,
    PageLeft,
    PageThrew,
    ProtocolError,
)
from framekiln.capture.inner_frames import InnerFrames
from framekiln.capture.network import AuthorPosition, PageNetwork, as_served
from framekiln.capture.page_scripts import (
    console_text,
    is_rejection,
    rejection_message,
    thrown_message,
)
from framekiln.capture.process_tree import cpu_seconds
from framekiln.kit.errors import FramekilnError

_MOST_COMPLAINTS = 20

# Three such windows in a row without work, although a frame is pending, mean that it is lost. Even
# on a busy machine, a process with work to do gets more than this share of one core.
_WINDOW_S = 4.0
_IDLE_WINDOWS = 3
_IDLE_CPU_SHARE = 0.03


class PageSession:
    """The protocol session of one tab."""

    def __init__(self, browser: Browser, *, target: str, session: str) -> None:
        self.activity = "loading"
        """The current activity, for error messages."""
        self.within_s = 30.0
        """The time limit of one step of the page."""
        self._console_errors: dict[str, None] = {}
        self._rejections: dict[int, str] = {}
        self._author_position: AuthorPosition = as_served
        self._browser = browser
        self._connection = browser.connection
        self._id = session
        # A tab and its outermost frame have the same id.
        self.inner = InnerFrames(self._connection, session, main_frame=target)
        self._failure: FramekilnError | None = None
        self._has_document = False
        self._listen()

    @property
    def now_s(self) -> float:
        """A clock for the page's time limits; it is stopped while the page waits for us."""
        return self._connection.now_s

    def call(self, method: str, params: Params | None = None) -> dict[str, Any]:
        """Send a command to the page and return its result."""
        try:
            return self._connection.call(method, params, session=self._id, within_s=self.within_s)
        except BrowserTimeout as error:
            raise self._blocked() from error

    def draw(self, params: Params) -> dict[str, Any]:
        """Draw a frame and return the result; notice if Chromium has lost it.

        Under load, Chromium very rarely forgets a frame and waits for ever. The page is not to
        blame if its thread responds and no process of the browser works.
        """
        method, connection = "HeadlessExperimental.beginFrame", self._connection
        frame = connection.post(method, params, session=self._id)
        deadline, idle_windows = self.now_s + self.within_s, 0
        has_drawn = connection.has_answer(frame, within_s=min(_WINDOW_S, self.within_s))
        while not has_drawn and idle_windows < _IDLE_WINDOWS and self.now_s < deadline:
            probe = connection.post("Runtime.evaluate", {"expression": "0"}, session=self._id)
            begun_s, cpu_before_s = self.now_s, cpu_seconds(self._browser.pid)
            within_s = min(_WINDOW_S, deadline - begun_s)
            has_drawn = connection.has_answer(frame, within_s=within_s)
            used_s = cpu_seconds(self._browser.pid) - cpu_before_s
            is_idle = used_s < _IDLE_CPU_SHARE * (self.now_s - begun_s)
            responds = connection.has_answer(probe, within_s=0)
            connection.abandon(probe)
            idle_windows = idle_windows + 1 if is_idle and responds else 0
        if has_drawn:
            return connection.wait(frame, method, within_s=0)
        connection.abandon(frame)
        if idle_windows == _IDLE_WINDOWS:
            raise FrameStalled(f"Chromium lost a frame while {self.activity}")
        raise self._blocked()

    def post(self, method: str, params: Params, *, worker: str | None = None) -> None:
        """Send a command to the page or one of its workers; ignore the result."""
        session = self._id if worker is None else worker
        self._connection.abandon(self._connection.post(method, params, session=session))

    def evaluate(self, expression: str, *, context: str | None = None) -> Any:
        """Run a script in the page, or in a frame inside it, and return its value."""
        params: Params = {"expression": expression, "returnByValue": True}
        if context is not None:
            params["uniqueContextId"] = context
        result = self.call("Runtime.evaluate", params)
        if "exceptionDetails" in result:
            raise PageThrew(thrown_message(result["exceptionDetails"]))
        return result["result"].get("value")

    def evaluate_inside(self, contexts: Iterable[str], expression: str) -> None:
        """Run a script in frames inside the page; ignore those that are removed meanwhile."""
        for context in contexts:
            with suppress(ProtocolError):
                self.evaluate(expression, context=context)

    def listen(self, event: str, listener: Callable[[Params], None]) -> None:
        """Register a listener for an event of the page."""
        self._connection.listen(event, self._id, listener)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that a listener will set."""
        if not self._connection.pump_until(condition, within_s=self.within_s):
            raise self._blocked()

    def attach(self, network: PageNetwork) -> None:
        """Start responding to the page's requests."""
        self._author_position = network.author_position
        network.attach(self._connection, self._id)

    def raise_failure(self) -> None:
        """Raise the failure since the page was opened, if there is one."""
        if self._failure is not None:
            raise self._failure

    def reported_problems(self) -> tuple[str, ...]:
        """Return unhandled rejections and errors on the console, without duplicates."""
        written = (f"the page wrote to its console: {text}" for text in self._console_errors)
        return (*dict.fromkeys(self._rejections.values()), *written)

    def forget(self) -> None:
        """Remove all listeners of the page."""
        self._connection.forget(self._id)

    def _blocked(self) -> FramekilnError:
        if not self._browser.is_alive:
            return BrowserDied("Chromium ended while " + self.activity)
        return PageBlocked(
            f"the page's scripts kept its thread busy for over {self.within_s:g} s"
            f" while {self.activity}; is there a loop without end?",
        )

    def _listen(self) -> None:
        heard = {
            "Runtime.exceptionThrown": self._on_exception,
            "Runtime.exceptionRevoked": self._on_exception_revoked,
            "Runtime.consoleAPICalled": self._on_console,
            "Page.frameNavigated": self._on_navigation,
            "Page.javascriptDialogOpening": self._on_dialog,
            "Inspector.targetCrashed": self._on_crash,
        }
        for event, listener in heard.items():
            self.listen(event, listener)
        for domain in ("Page", "Runtime", "Inspector"):
            self.call(f"{domain}.enable")

    def _on_exception(self, params: Params) -> None:
        details = params["exceptionDetails"]
        if is_rejection(details):
            if len(self._rejections) < _MOST_COMPLAINTS:
                told = rejection_message(details, self._author_position)
                self._rejections[details["exceptionId"]] = told
        elif self._failure is None:
            self._failure = PageThrew(thrown_message(details, self._author_position))

    def _on_exception_revoked(self, params: Params) -> None:
        # The rejection was handled later.
        self._rejections.pop(params["exceptionId"], None)

    def _on_navigation(self, params: Params) -> None:
        frame = params["frame"]
        if "parentId" in frame:
            return
        if self._has_document and self._failure is None:
            where = str(frame.get("unreachableUrl") or frame.get("url"))[:300]
            self._failure = PageLeft(
                f"the page went to {where} while {self.activity};"
                " a composition is one document and stays on it"
            )
        self._has_document = True

    def _on_console(self, params: Params) -> None:
        is_error = params.get("type") in ("error", "assert")
        if is_error and len(self._console_errors) < _MOST_COMPLAINTS:
            self._console_errors[console_text(params)] = None

    def _on_dialog(self, _params: Params) -> None:
        # alert() and similar dialogs would block the page until they are closed.
        self.post("Page.handleJavaScriptDialog", {"accept": False})

    def _on_crash(self, _params: Params) -> None:
        raise PageCrashed(f"the page crashed while {self.activity}: out of memory?")
