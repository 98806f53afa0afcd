"""The workers of a page: each frame is redrawn until it shows what they sent and drew for it.

The page's side is `runtime/src/page_workers.ts`, that of a worker `runtime/src/worker_main.ts`.
"""

from collections.abc import Callable

from framekiln.capture.cdp import Params
from framekiln.capture.errors import PageNeverSettled
from framekiln.capture.page_clock import CREEP_US, DrawnFrame, PageClock
from framekiln.capture.page_scripts import worker_script
from framekiln.capture.page_session import PageSession


class PageWorkers:
    """Keeps the workers of one page in sync with its frames. Owned by its thread."""

    def __init__(self, session: PageSession, clock: PageClock) -> None:
        self._session = session
        self._clock = clock
        self.has_any = False
        """Whether the page has, or had, a worker."""

    def listen(self) -> None:
        """Run our script in each worker before its own."""
        self._session.listen("Target.attachedToTarget", self._on_worker)
        attach = {
            "autoAttach": True,
            "waitForDebuggerOnStart": True,
            "flatten": True,
            # Chromium also pauses worklets at their start, whatever the filter is: attach to them
            # so that they resume.
            "filter": [{"type": "worker"}, {"type": "worklet"}],
        }
        self._session.call("Target.setAutoAttach", attach)

    def finish(
        self, shown: DrawnFrame, redraw: Callable[[], DrawnFrame], *, has_own_canvas: bool
    ) -> DrawnFrame:
        """Redraw the current frame until it shows what workers sent and drew for it.

        So it does with what the page itself may have drawn on such a canvas (`has_own_canvas`).
        """
        if not self.has_any and not has_own_canvas:
            return shown
        if not self._session.evaluate("__framekiln.askWorkers()"):
            return shown
        while drawings := self._wanted():
            for _ in range(drawings):
                # Chromium notifies the page of a new canvas in a separate task.
                self._clock.advance(CREEP_US)
                again = redraw()
                shown = DrawnFrame(shown.has_damage or again.has_damage, again.screenshot)
        return shown

    def _wanted(self) -> int:
        deadline = self._session.now_s + self._session.within_s
        while (drawings := self._session.evaluate("__framekiln.workerDrawings()")) is None:
            if self._session.now_s > deadline:
                raise PageNeverSettled(
                    f"while {self._session.activity}, a worker of the page did not read its"
                    f" messages, or get what it requested, within {self._session.within_s:g} s; is"
                    " there a loop without end?",
                    waiting_for=["a worker"],
                )
            self._clock.advance(CREEP_US)
        return int(drawings)

    def _on_worker(self, params: Params) -> None:
        if params["targetInfo"]["type"] == "worker":
            self.has_any = True
            run = {"expression": worker_script()}
            self._session.post("Runtime.evaluate", run, worker=params["sessionId"])
        self._session.post("Runtime.runIfWaitingForDebugger", {}, worker=params["sessionId"])
