"""Waits for a page: until it can be drawn, and until its work on one frame is done."""

from typing import Final

from framekiln.capture.errors import PageNeverSettled, PageThrew
from framekiln.capture.page_clock import CREEP_US, PageClock
from framekiln.capture.page_session import PageSession

_MAY_NEED_TIME: Final = ("window.renderReady", "initializer of", "own runtime: ")
_HELD_STEP_US: Final = 10_000
_TASK_STEP_US: Final = 1_000
_NAMED: Final = 10


def settle(session: PageSession, clock: PageClock, *, within_s: float) -> None:
    """Wait until the page has nothing pending."""
    deadline = session.now_s + within_s
    quiet_rounds = 0
    while quiet_rounds < 2:
        pending = _pending(session)
        quiet_rounds = 0 if pending else quiet_rounds + 1
        if session.now_s > deadline:
            named = pending[:_NAMED]
            raise PageNeverSettled(
                f"after {within_s:g} s the page was still waiting for: {', '.join(named)}",
                waiting_for=named,
            )
        # Nothing is drawn while loading: animations start with the first drawn frame, which must be
        # frame 0. Only the page's own promise may depend on frames and timers.
        if pending and all(name.startswith(_MAY_NEED_TIME) for name in pending):
            session.evaluate("__framekiln.step()")
            session.evaluate_inside(session.inner.contexts(), "__framekiln.step()")
            clock.advance(_HELD_STEP_US)
            clock.draw_after(_HELD_STEP_US)
        else:
            clock.advance(CREEP_US)


def wait_for_frame_tasks(session: PageSession, clock: PageClock) -> None:
    """Wait for the page's own tasks of this frame; they may need timers of a few milliseconds."""
    deadline = session.now_s + session.within_s
    step_us = CREEP_US
    while not session.evaluate("__framekiln.frameDone()"):
        if session.now_s > deadline:
            raise PageNeverSettled(
                f"while {session.activity}, a frame task did not end within {session.within_s:g} s",
                waiting_for=["frame task"],
            )
        clock.advance(step_us)
        step_us = min(step_us * 2, _TASK_STEP_US)


def _pending(session: PageSession) -> list[str]:
    pending = session.evaluate("window.__framekiln ? __framekiln.pending() : ['document']")
    failure = session.evaluate("window.__framekiln ? __framekiln.failure() : ''")
    if failure:
        raise PageThrew(str(failure))
    return [str(name) for name in pending]
