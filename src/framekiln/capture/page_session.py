"""The protocol session of a page, and its events: errors, navigation, crashes, console.

Does not move any clock. Failures between calls are stored, and raised by the next check.
"""

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from framekiln.capture.browser import Browser
from framekiln.capture.cdp import CdpConnection, Params
from framekiln.capture.errors import (
    BrowserDied,
    FrameStalled,
    PageBlocked,
    PageCrashed,
    PageLeft,
    PageThrew,
    ProtocolError,
)
from framekiln.capture.network import AuthorPosition, PageNetwork, as_served
from framekiln.capture.page_scripts import (
    console_text,
    is_rejection,
    rejection_message,
    thrown_message,
)
from framekiln.kit.errors import FramekilnError
from framekiln.kit.warning_text import WarningText

_MAX_REPORTED_ERRORS = 20
_MAX_CONSOLE_ENTRIES = 200
_LEVELS = {"error": "error", "assert": "error", "warning": "warning", "debug": "debug"}

# Six such windows in a row without work, although a frame is pending, mean that it is lost. Even
# on a busy machine, a process with work to do gets more than this share of one core.
_WINDOW_S = 2.0
_IDLE_WINDOWS = 6
_IDLE_CORES = 0.03
_BUSY_CORES = 0.7
_PROBE: Params = {"expression": "0"}


@dataclass(frozen=True)
class ConsoleEntry:
    """A line that a script wrote to its console."""

    level: str
    """error, warning, info or debug."""
    text: str


class PageSession:
    """The protocol session of one tab."""

    def __init__(self, browser: Browser, *, target: str, session: str) -> None:
        self.activity = "loading"
        """The current activity, for error messages."""
        self.within_s = 30.0
        """The time limit of one step of the page."""
        self._console: deque[ConsoleEntry] = deque(maxlen=_MAX_CONSOLE_ENTRIES)
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
        return self._result(method, params, may_stall=False)

    def draw(self, params: Params) -> dict[str, Any]:
        """Draw a frame and return the result; notice if Chromium has lost it.

        Under load, Chromium very rarely forgets a frame and waits for ever. The page is not to
        blame if its thread responds and no process of the browser works.
        """
        return self._result("HeadlessExperimental.beginFrame", params, may_stall=True)

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
        pump = self._connection.pump_until
        self._wait(lambda within_s: pump(condition, within_s=within_s), may_stall=False)

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
        rejected = dict.fromkeys(self._rejections.values())
        return (
            *(WarningText("promise_rejected", text) for text in rejected),
            *(
                WarningText("console_error", f"the page wrote to its console: {text}")
                for text in self._console_errors
            ),
        )

    def console(self) -> tuple[ConsoleEntry, ...]:
        """Return the last lines that scripts wrote to their console."""
        return tuple(self._console)

    def forget(self) -> None:
        """Remove all listeners of the page."""
        self._connection.forget(self._id)

    def _result(self, method: str, params: Params | None, *, may_stall: bool) -> dict[str, Any]:
        connection = self._connection
        message = connection.post(method, params, session=self._id)
        try:
            self._wait(
                lambda within_s: connection.has_answer(message, within_s=within_s),
                may_stall=may_stall,
            )
        except FramekilnError:
            connection.abandon(message)
            raise
        return connection.wait(message, method, within_s=0)

    def _wait(self, has_arrived: Callable[[float], bool], *, may_stall: bool) -> None:
        """Wait within the limit, in windows; after the first, look at what the browser does.

        A page that works without responding gets a low priority.
        """
        deadline, idle_windows = self.now_s + self.within_s, 0
        if has_arrived(min(_WINDOW_S, self.within_s)):
            return
        while idle_windows < _IDLE_WINDOWS and self.now_s < deadline:
            probe = self._connection.post("Runtime.evaluate", _PROBE, session=self._id)
            begun_s, cpu_before_s = self.now_s, self._browser.processes.cpu_seconds()
            if has_arrived(min(_WINDOW_S, deadline - begun_s)):
                self._connection.abandon(probe)
                return
            cores = (self._browser.processes.cpu_seconds() - cpu_before_s) / (self.now_s - begun_s)
            responds = self._connection.has_answer(probe, within_s=0)
            self._connection.abandon(probe)
            if cores > _BUSY_CORES:
                self._browser.slow_down()
            is_idle = may_stall and responds and cores < _IDLE_CORES
            idle_windows = idle_windows + 1 if is_idle else 0
        if idle_windows == _IDLE_WINDOWS:
            raise FrameStalled(f"Chromium lost a frame while {self.activity}")
        raise self._blocked()

    def _blocked(self) -> FramekilnError:
        if not self._browser.is_alive:
            return BrowserDied("Chromium ended while " + self.activity)
        return PageBlocked(
            f"the page's scripts kept its thread busy for over {self.within_s:g} s"
            f" while {self.activity}; is there a loop without end?",
        )

    def _listen(self) -> None:
        listeners = {
            "Runtime.exceptionThrown": self._on_exception,
            "Runtime.exceptionRevoked": self._on_exception_revoked,
            "Runtime.consoleAPICalled": self._on_console,
            "Page.frameNavigated": self._on_navigation,
            "Page.javascriptDialogOpening": self._on_dialog,
            "Inspector.targetCrashed": self._on_crash,
        }
        for event, listener in listeners.items():
            self.listen(event, listener)
        for domain in ("Page", "Runtime", "Inspector"):
            self.call(f"{domain}.enable")

    def _on_exception(self, params: Params) -> None:
        details = params["exceptionDetails"]
        if is_rejection(details):
            if len(self._rejections) < _MAX_REPORTED_ERRORS:
                message = rejection_message(details, self._author_position)
                self._rejections[details["exceptionId"]] = message
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
        level = _LEVELS.get(str(params.get("type")), "info")
        self._console.append(ConsoleEntry(level, console_text(params)))
        is_error = level == "error"
        if is_error and len(self._console_errors) < _MAX_REPORTED_ERRORS:
            self._console_errors[console_text(params)] = None

    def _on_dialog(self, _params: Params) -> None:
        # alert() and similar dialogs would block the page until they are closed.
        self.post("Page.handleJavaScriptDialog", {"accept": False})

    def _on_crash(self, _params: Params) -> None:
        raise PageCrashed(f"the page crashed while {self.activity}: out of memory?")


class InnerFrames:
    """The script contexts of the frames inside one page (`<iframe>`). Owned by the page's thread.

    Each of them has a runtime of its own.
    """

    def __init__(self, connection: CdpConnection, session: str, *, main_frame: str) -> None:
        self._main_frame = main_frame
        self._contexts: dict[str, int] = {}
        self._new: list[str] = []
        listeners = {
            "Runtime.executionContextCreated": self._on_created,
            "Runtime.executionContextDestroyed": self._on_destroyed,
            "Runtime.executionContextsCleared": self._on_cleared,
        }
        for event, listener in listeners.items():
            connection.listen(event, session, listener)

    def contexts(self) -> list[str]:
        """Return the current contexts."""
        return list(self._contexts)

    def find(self, number: int) -> str | None:
        """Return the context with the number in an event; None for the page's own."""
        return next((name for name, known in self._contexts.items() if known == number), None)

    def take_new(self) -> list[str]:
        """Return the contexts that were added since the last call and still exist."""
        new = [context for context in self._new if context in self._contexts]
        self._new.clear()
        return new

    def _on_created(self, params: Params) -> None:
        context = params["context"]
        facts = context.get("auxData", {})
        if facts.get("isDefault") and facts.get("frameId") != self._main_frame:
            self._contexts[context["uniqueId"]] = context["id"]
            self._new.append(context["uniqueId"])

    def _on_destroyed(self, params: Params) -> None:
        self._contexts.pop(params["executionContextUniqueId"], None)

    def _on_cleared(self, _params: Params) -> None:
        self._contexts.clear()
